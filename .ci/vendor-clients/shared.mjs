// What the calls of both clients have in common.

/** An id of no item. */
export const noItem = '00000000-0000-4000-8000-000000000001'

/** Returns a discount of the cart, or of an item {type, id} in a bulk request. */
export function discount(externalID, amount, item) {
  return {
    type: 'custom_discount',
    amount,
    external_id: externalID,
    description: `discount ${externalID}`,
    discount_code: 'code',
    discount_engine: 'engine',
    ...(item && { relationships: { item: { data: { type: item.type, id: item.id } } } }),
  }
}

/**
 * Checks that written, the discounts in the responses to writes, are those that were sent, and
 * that the cart read afterwards has them.
 */
export function checkDiscounts(calls, sent, written, cart) {
  for (const discount of sent) {
    const name = discount.external_id
    const find = (list) => list?.find((d) => d?.external_id === name)
    const response = find(written)
    const read = find(cart?.included?.custom_discounts)
    calls.name(response?.id, name)
    calls.check(`${name} in the response is what was sent`, response && members(response), members(discount))
    calls.check(`${name} in the cart is that of the response`, read && [read.id, members(read)],
      response && [response.id, members(response)])
  }
}

const members = ({ external_id, amount, description, discount_code, discount_engine }) => ({
  external_id, amount: amount.amount ?? amount, description, discount_code, discount_engine,
})

// What describe says about the items that both clients add, and about carts.
export const lastItem = 'sku-000003 3 x 10000'
export const bothItems = `custom-1 2 x 5000, ${lastItem}`
export const cartText = (total, items, own, ofItems) => `cart test, discounts enabled, total ${total}; items ${items}; `
  + `discounts of the cart ${own}; of items ${ofItems}`
export const emptyCart = 'cart Cart, discounts disabled, total 0' // without lists

// Errors of the store.
const includes = {
  first: 'plans, products or plans,products',
  second: 'plans, pricing_options or plans,pricing_options',
}
export const refusals = {
  include: (generation) => `400 Validation Error include must be ${includes[generation]}: `
    + `the store sends the ${generation} generation of the payload, see Config.Generation`,
  alone: '403 Forbidden With an implicit token, the header EP-Account-Management-Authentication-Token'
    + ' must have the token of an account',
  implicit: '403 Forbidden An implicit token does not allow this request',
  item: '404 Custom discount not added to cart item. Cart Item is not present in the cart.',
  twice: '400 Validation Error data.type is required, and must be a string that is not empty; 5 more',
  subscription: '404 Not Found There is no such subscription',
  level: '404 Not Found There is no such custom discount',
}

// Remarks on what the table shows.
const docs = 'https://developer.elasticpath.com/docs/api'
const release = 'the release notes of `@epcc-sdk/sdks-cart-checkout-order` say that the service'
export const why = {
  include: `The first generation has products, [the second](${docs}/subscriptions/list-subscriptions) pricing options`,
  account: 'The implicit token and the token of the account show the subscriptions of that account',
  alone: 'The documentation shows an implicit token only with the token of an account',
  implicit: `[Custom discounts](${docs}/carts/bulk-add-custom-discounts-to-cart) need a client-credentials token`,
  text: 'The SDK reads an empty body as the text `{}`',
  leak: 'The SDK forgets Limit, Offset, Filter and With after a call, but not after one that has to get a token',
  revoked: 'After a 401 the SDK gets a token and sends the request again',
  partial: 'Without `add_all_or_nothing` a success may hold errors',
  twice: 'Without options the SDK writes `data` twice',
  doubleSlash: 'The SDK writes `//`, and no endpoint has that path; add it with BulkAddCartCustomDiscount',
  level: 'A discount is found only on its own level; the documentation names no status for this',
  bare: `The type of the package has no \`data\`; ${release} demands it`,
  amount: `The type of the package has an object; ${release} accepts only a number`,
  other: 'An account does not see the subscriptions of others; the documentation names no status for this',
  settings: 'The settings hold for carts that are created later',
  states: 'The SDK has no method for this; `request` is a public member',
}
