// Describes what a client returned in a short text, so that it can be compared.

/** The value of a call: the body of a response, or {thrown} for what a client threw. */
export function describe(value) {
  if (value?.thrown !== undefined) return `rejects: ${problem(value.thrown)}`
  if (value?.error !== undefined) return `error: ${problem(value.error)}`
  const body = value?.response instanceof Response ? value.data : value
  if (body?.access_token) return `token ${body.token_type}, ${body.expires_in} s, ${body.identifier}`
  if (typeof body?.data !== 'object') return JSON.stringify(body) ?? 'undefined'
  const added = [body.data].flat().map((resource) => kinds[resource.type] ?? 'other')
  const text = (texts[added[0]] ?? texts.other)(body)
  return body.errors ? `${text}; ${problem(body)}` : text
}

/** Returns the first error of a body, and the number of the others; or the text of an Error. */
function problem(body) {
  if (!Array.isArray(body?.errors)) return body instanceof Error ? String(body) : JSON.stringify(body)
  const [first, ...rest] = body.errors
  const text = [first.status ?? first.Status, first.title ?? first.Title, first.detail ?? first.Detail]
  return text.filter(Boolean).join(' ') + (rest.length ? `; ${rest.length} more` : '')
}

const kinds = {
  subscription: 'subscriptions',
  subscription_state: 'states',
  cart: 'cart',
  cart_item: 'items',
  custom_item: 'items',
  custom_discount: 'discounts',
  settings: 'settings',
}

const texts = {
  subscriptions: ({ data, included, links }) => {
    const list = [data].flat()
    const refs = list.map((s) => s.attributes.external_ref)
    let text = Array.isArray(data) ? `${list.length} subscription${list.length === 1 ? '' : 's'}, ` : 'subscription '
    text += refs.length > 4 ? `${refs[0]} to ${refs.at(-1)}` : refs.join(', ')
    if (!Array.isArray(data)) text += `, ${stateOf(data)}`
    if (links?.next) text += ', more follow'
    const names = Object.keys(included ?? {}).sort()
    const counts = names.map((name) => `${included[name].length} ${name}`)
    if (counts.length) text += `, with ${counts.join(' and ')}${missing(list, included)}`
    return text
  },
  states: ({ data }) => (Array.isArray(data)
    ? `states: ${data.map((state) => state.attributes.action).join(', ')}`
    : `state ${data.attributes.action}`),
  cart: (body) => {
    const { data } = body
    const enabled = data.discount_settings.custom_discounts_enabled ? 'enabled' : 'disabled'
    const total = data.meta.display_price.with_tax.amount
    const parts = [`cart ${data.name}, discounts ${enabled}, total ${total}`]
    if (body.included?.items) parts.push(`items ${body.included.items.map(itemText).join(', ') || 'none'}`)
    if (body.included?.custom_discounts) parts.push(discountsByLevel(body))
    return parts.join('; ')
  },
  items: ({ data, included }) => {
    const text = `items ${data.map(itemText).join(', ')}`
    if (!included?.custom_discounts) return text
    return `${text}; discounts ${discountTexts(included.custom_discounts)}`
  },
  discounts: ({ data }) => (Array.isArray(data)
    ? `discounts ${discountTexts(data)}`
    : `discount ${discountTexts([data])}`),
  settings: ({ data }) => {
    const members = {
      page_length: data.page_length,
      custom_discount_limit: data.custom_discount_limit,
      custom_discounts_enabled: data.discounts?.custom_discounts_enabled,
    }
    const known = Object.entries(members).filter(([, value]) => value !== undefined)
    return `settings: ${known.map(([name, value]) => `${name} ${value}`).join(', ')}`
  },
  other: ({ data }) => (Array.isArray(data) && data.length === 0 ? 'an empty list' : JSON.stringify(data)),
}

const itemText = (item) => `${item.sku} ${item.quantity} x ${item.unit_price.amount}`

const discountTexts = (list) => list.map((d) => `${d.external_id} ${d.amount.amount}`).join(', ') || 'none'

/** Returns the discounts of a cart itself and those of its items, by the relationships. */
function discountsByLevel({ data, included }) {
  const find = (ref) => included.custom_discounts.find((d) => d.id === ref.id) ?? { external_id: 'missing', amount: {} }
  const own = (data.relationships.custom_discounts?.data ?? []).map(find)
  const ofItems = (included.items ?? []).flatMap((i) => i.relationships.custom_discounts?.data ?? []).map(find)
  const rest = included.custom_discounts.length - own.length - ofItems.length
  return `discounts of the cart ${discountTexts(own)}; of items ${discountTexts(ofItems)}${rest ? '; others' : ''}`
}

const states = ['canceled', 'paused', 'pending', 'suspended']
const stateOf = ({ meta }) => states.filter((name) => meta[name]).join(' and ') || 'active'

/** Names those included resources of a subscription that should be there, but are not. */
function missing(list, included) {
  const has = (name, test) => !included[name] || included[name].some(test)
  const complete = list.every(({ attributes: a }) => has('plans', (plan) => plan.id === a.plan_id)
    && has('pricing_options', (option) => option.id === a.pricing_option_id)
    && (a.offering.meta.external_product_refs ?? []).every(
      (ref) => has('products', (product) => product.attributes.external_ref === ref)))
  return complete ? '' : ', not all'
}
