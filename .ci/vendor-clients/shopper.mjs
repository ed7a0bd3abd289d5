// The calls of @epcc-sdk/sdks-shopper.

import * as sdk from '@epcc-sdk/sdks-shopper'

import {
  bothItems, cartText, checkDiscounts, discount, emptyCart, lastItem, noItem, refusals, why,
} from './shared.mjs'

export const name = 'shopper'

/** Makes all calls. values are those that the store printed. */
export async function drive(calls, values, fetch) {
  const baseUrl = values.address
  const clientId = values['client id']
  const credentials = { client_id: clientId, client_secret: values['client secret'] }

  const bare = sdk.createClient({ baseUrl, fetch })
  const token = await calls.call("createAnAccessToken({grant_type: 'client_credentials'})", {
    status: 200, returns: 'token Bearer, 3600 s, client_credentials',
  }, () => sdk.createAnAccessToken({ client: bare, body: { grant_type: 'client_credentials', ...credentials } }))
  const admin = sdk.createClient({ baseUrl, fetch, auth: token.data?.access_token })

  const guestStorage = memory()
  const guest = sdk.createShopperClient({ baseUrl, fetch }, { clientId, storage: guestStorage }).client
  const account = sdk.createShopperClient({
    baseUrl, fetch, headers: { 'EP-Account-Management-Authentication-Token': values['account token'] },
  }, { clientId, storage: memory() }).client

  await listSubscriptions(calls, admin)
  await byShopper(calls, guest, account)
  calls.check('the token that the client stored', JSON.parse(guestStorage.get()).token_type, 'Bearer')
  await oneSubscription(calls, admin, account)
  await carts(calls, admin, guest)
  await settings(calls, admin) // last: it holds for new carts
}

/** Returns a storage for tokens: those of the package need a browser. */
function memory(value) {
  return { get: () => value, set: (token) => { value = token } }
}

async function listSubscriptions(calls, client) {
  const list = (query, want) => calls.call(`listSubscriptions(${shown(query)})`, { status: 200, ...want },
    () => sdk.listSubscriptions({ client, query }))

  await list(undefined, { returns: '25 subscriptions, order-000100 to order-000076, more follow' })
  await list({ filter: 'eq(email,subscriber-0001@example.com)' }, {
    returns: '3 subscriptions, order-000005, order-000003, order-000001',
  })
  await list({ filter: 'eq(name,"Ron Swanson"):eq(external_ref,order-000007)' }, {
    returns: '1 subscription, order-000007',
  })
  await list({ filter: 'in(external_ref,order-000007,order-000009)' }, {
    returns: '2 subscriptions, order-000009, order-000007',
  })
  await list({ filter: 'in(name,"Ana Pereira, Lda. (Billing)"):in(external_ref,order-000013,order-000014)' }, {
    returns: '1 subscription, order-000013',
  })
  await list({ 'page[limit]': 40n, 'page[offset]': 80n }, {
    returns: '20 subscriptions, order-000020 to order-000001',
  })
  await list({ 'page[limit]': 2n, include: ['plans', 'products'] }, {
    status: { first: 200, second: 400 },
    returns: {
      first: '2 subscriptions, order-000100, order-000099, more follow, with 4 plans and 3 products',
      second: `error: ${refusals.include('second')}`,
    },
    why: why.include,
  })
  await list({ 'page[limit]': 2n, include: ['plans', 'pricing_options'] }, {
    status: { first: 400, second: 200 },
    returns: {
      first: `error: ${refusals.include('first')}`,
      second: '2 subscriptions, order-000100, order-000099, more follow, with 3 plans and 4 pricing_options',
    },
    why: why.include,
  })
}

/** Shows a query as a program writes it. */
function shown(query) {
  if (!query) return ''
  const value = (v) => {
    if (typeof v === 'bigint') return `${v}n`
    return Array.isArray(v) ? `[${v.map(value).join(', ')}]` : `'${v}'`
  }
  const name = (n) => (/\W/.test(n) ? `'${n}'` : n)
  return `{${Object.entries(query).map(([n, v]) => `${name(n)}: ${value(v)}`).join(', ')}}`
}

/** Lists as a shopper does, with an implicit token, which the client gets by itself. */
async function byShopper(calls, guest, account) {
  await calls.call('createShopperClient(…), listSubscriptions(), with an account token', {
    status: '200, 200', returns: '3 subscriptions, order-000005, order-000003, order-000001', why: why.account,
  }, () => sdk.listSubscriptions({ client: account }))
  await calls.call('createShopperClient(…), listSubscriptions(), without one', {
    status: '200, 403', returns: `error: ${refusals.alone}`, why: why.alone,
  }, () => sdk.listSubscriptions({ client: guest }))
}

async function oneSubscription(calls, client, account) {
  const found = await sdk.listSubscriptions({ client, query: { filter: 'eq(external_ref,order-000001)' } })
  const id = calls.name(found.data.data[0].id, 'subscription')
  const path = { subscription_uuid: id }
  const get = (query, want, when = '') => calls.call(`getSubscription(${shown(query)})${when}`,
    { status: 200, ...want }, () => sdk.getSubscription({ client, path, query }))
  const create = (action) => calls.call(`createSubscriptionState(${action})`, { status: 204, returns: '{}' },
    () => sdk.createSubscriptionState({
      client, path, body: { data: { type: 'subscription_state', attributes: { action } } },
    }))

  await get(undefined, { returns: 'subscription order-000001, active' })
  const { data: { data: [other] } } = await sdk.listSubscriptions({
    client, query: { filter: 'eq(external_ref,order-000002)' },
  })
  calls.name(other.id, 'subscription of another account')
  await calls.call('getSubscription(), with the token of another account', {
    status: 404, returns: `error: ${refusals.subscription}`, why: why.other,
  }, () => sdk.getSubscription({ client: account, path: { subscription_uuid: other.id } }))
  await get({ include: ['plans', 'products'] }, {
    status: { first: 200, second: 400 },
    returns: {
      first: 'subscription order-000001, active, with 2 plans and 2 products',
      second: `error: ${refusals.include('second')}`,
    },
    why: why.include,
  })
  await get({ include: ['plans', 'pricing_options'] }, {
    status: { first: 400, second: 200 },
    returns: {
      first: `error: ${refusals.include('first')}`,
      second: 'subscription order-000001, active, with 2 plans and 2 pricing_options',
    },
    why: why.include,
  })
  await create('pause')
  await get(undefined, { returns: 'subscription order-000001, paused' }, ', after it')
  await create('cancel')
  const states = await calls.call('listSubscriptionStates()', { status: 200, returns: 'states: pause, cancel' },
    () => sdk.listSubscriptionStates({ client, path }))
  const state = calls.name(states.data?.data?.[0]?.id, 'state')
  await calls.call('getSubscriptionState()', { status: 200, returns: 'state pause' },
    () => sdk.getSubscriptionState({ client, path: { ...path, state_uuid: state } }))
  const now = await sdk.getSubscription({ client, path })
  calls.check('the state of the subscription is its newest one', now.data.data.meta.state?.attributes.action, 'cancel')
}

async function settings(calls, client) {
  const get = (when, enabled) => calls.call(`getV2SettingsCart()${when}`, {
    status: 200, returns: `settings: custom_discounts_enabled ${enabled}`,
  }, () => sdk.getV2SettingsCart({ client }))

  await get('', false)
  await calls.call('putV2SettingsCart({discounts})', {
    status: 200, returns: 'settings: custom_discounts_enabled true',
  }, () => sdk.putV2SettingsCart({
    client, body: { data: { type: 'settings', discounts: { custom_discounts_enabled: true } } },
  }))
  await get(', after it', true)
  const created = await calls.call('createACart({name}), after it', {
    status: 201, returns: 'cart test, discounts enabled, total 0', why: why.settings,
  }, () => sdk.createACart({ client, body: { data: { name: 'test' } } }))
  await sdk.deleteACart({ client, path: { cartID: created.data?.data?.id } })
}

async function carts(calls, client, guest) {
  const created = await calls.call('createACart({name, discount_settings})', {
    status: 201, returns: 'cart test, discounts enabled, total 0',
  }, () => sdk.createACart({
    client, body: { data: { name: 'test', discount_settings: { custom_discounts_enabled: true } } },
  }))
  const cartID = calls.name(created.data?.data?.id, 'cart')
  // send calls a function of the package with the cart, other ids of the path, and data.
  const send = (call, want, { path, body } = {}) => calls.call(call, want,
    () => sdk[call.match(/^\w+/)[0]]({ client, path: { cartID, ...path }, body }))
  const query = { include: ['items', 'custom_discounts'] }
  const read = (when, returns) => calls.call(`getACart(${shown(query)}), ${when}`, { status: 200, returns },
    () => sdk.getACart({ client, path: { cartID }, query }))

  const items = await addItems({ calls, client, cartID, send })
  await addDiscounts({ calls, send, read, items })
  await changeDiscounts({ calls, send, read, items })

  await calls.call('bulkAddCustomDiscountsToCart(…), with an implicit token', {
    status: 403, returns: `error: ${refusals.implicit}`, why: why.implicit,
  }, () => sdk.bulkAddCustomDiscountsToCart({
    client: guest, path: { cartID }, body: { data: [discount('guest', -1)] },
  }))
  await send('deleteACartItem(item)', { status: 200, returns: `items ${lastItem}` }, {
    path: { cartitemID: items.custom },
  })
  await read('after it', cartText(29700, lastItem, 'none', 'item-2 -300'))
  await send('deleteACart()', { status: 204, returns: '{}' })
  await read('after it', emptyCart)
}

/** Adds a custom item and a product, and returns their ids. */
async function addItems({ calls, client, cartID, send }) {
  const custom = await send('manageCarts(custom item)', { status: 201, returns: 'items custom-1 2 x 5000' }, {
    body: { data: { type: 'custom_item', name: 'Engraving', sku: 'custom-1', quantity: 2, price: { amount: 5000 } } },
  })
  const product = calls.name('11111111-2222-4333-8444-555555555555', 'product')
  const all = await send('manageCarts(product)', { status: 201, returns: `items ${bothItems}` }, {
    body: { data: { type: 'cart_item', id: product, quantity: 3 } },
  })
  const items = {
    custom: calls.name(custom.data?.data?.[0]?.id, 'custom item'),
    product: calls.name(all.data?.data?.[1]?.id, 'product item'),
  }
  calls.name(noItem, 'no item')
  calls.check('the product of the item', all.data?.data?.[1]?.product_id, product)
  const query = { include: ['custom_discounts'] }
  const read = await calls.call(`getCartItems(${shown(query)})`, {
    status: 200, returns: `items ${bothItems}`,
  }, () => sdk.getCartItems({ client, path: { cartID }, query }))
  calls.check('the items of the cart are those added', read.data?.data, all.data?.data)
  return items
}

async function addDiscounts({ calls, send, read, items }) {
  const add = 'bulkAddCustomDiscountsToCart'
  const addOne = 'addCustomDiscountToCartItem'
  const bulk = [discount('cart-1', -1000), discount('item-1', -500, { type: 'custom_item', id: items.custom })]
  const added = await send(`${add}(list, options)`, { status: 201, returns: 'discounts cart-1 -1000, item-1 -500' }, {
    body: { data: bulk, options: { add_all_or_nothing: true } },
  })
  const partial = await send(`${add}(list), one refused`, {
    status: 201, returns: `discounts cart-2 -200; ${refusals.item}`, why: why.partial,
  }, {
    body: { data: [discount('cart-2', -200), discount('item-x', -1, { type: 'cart_item', id: noItem })] },
  })
  const path = { cartitemID: items.product }
  await send(`${addOne}(discount)`, {
    status: 422, returns: 'error: 422 Unprocessable Entity The data field is required', why: why.bare,
  }, { path, body: discount('item-2', -300) })
  const one = await send(`${addOne}({data: discount})`, { status: 201, returns: 'discount item-2 -300' }, {
    path, body: { data: discount('item-2', -300) },
  })
  const after = await read('after these',
    cartText(38000, bothItems, 'cart-1 -1000, cart-2 -200', 'item-1 -500, item-2 -300'))
  const sent = [...bulk, discount('cart-2', -200), discount('item-2', -300)]
  checkDiscounts(calls, sent, [added, partial, one].flatMap(({ data }) => data?.data), after.data)
  items.cart1 = added.data?.data?.[0]?.id
  items.item1 = added.data?.data?.[1]?.id
}

async function changeDiscounts({ calls, send, read, items }) {
  const ofCart = { customdiscountID: items.cart1 }
  const ofItem = { cartitemID: items.custom, customdiscountID: items.item1 }
  const data = (members) => ({ data: { type: 'custom_discount', ...members } })
  await send('updateCustomDiscountForCart({amount: {amount}})', {
    status: 400, returns: 'error: 400 Validation Error data.amount is required, and must be a number', why: why.amount,
  }, {
    path: ofCart, body: data({ amount: { amount: -1500, currency: 'USD' } }),
  })
  const updates = [
    await send('updateCustomDiscountForCart({amount})', { status: 200, returns: 'discount cart-1 -1500' }, {
      path: ofCart, body: data({ amount: -1500, description: 'changed' }),
    }),
    await send('updateCustomDiscountForCartItem({amount})', { status: 200, returns: 'discount item-1 -700' }, {
      path: ofItem, body: data({ amount: -700 }),
    }),
  ]
  const after = await read('after the updates',
    cartText(37300, bothItems, 'cart-1 -1500, cart-2 -200', 'item-1 -700, item-2 -300'))
  const sent = [{ ...discount('cart-1', -1500), description: 'changed' }, discount('item-1', -700)]
  checkDiscounts(calls, sent, updates.map(({ data: body }) => body?.data), after.data)
  await send('deleteCustomDiscountFromCart(), of an item', {
    status: 404, returns: `error: ${refusals.level}`, why: why.level,
  }, {
    path: { customdiscountID: items.item1 },
  })
  await send('deleteCustomDiscountFromCart()', { status: 204, returns: '{}' }, { path: ofCart })
  await send('deleteCustomDiscountFromCartItem()', { status: 204, returns: '{}' }, { path: ofItem })
  await read('after the deletes', cartText(39500, bothItems, 'cart-2 -200', 'item-2 -300'))
  await send('bulkDeleteCustomDiscountsFromCart()', { status: 204, returns: '{}' })
  await read('after it', cartText(39700, bothItems, 'none', 'item-2 -300'))
}
