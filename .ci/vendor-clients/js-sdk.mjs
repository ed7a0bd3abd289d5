// The calls of @elasticpath/js-sdk.

import { gateway, MemoryStorageFactory } from '@elasticpath/js-sdk'

import {
  bothItems, cartText, checkDiscounts, discount, emptyCart, lastItem, noItem, refusals, why,
} from './shared.mjs'

export const name = 'js-sdk'

/** Makes all calls. values are those that the store printed. */
export async function drive(calls, values, fetch) {
  console.info = () => {} // the SDK reports each token that it gets
  const config = {
    host: new URL(values.address).host,
    protocol: new URL(values.address).protocol.replace(':', ''),
    client_id: values['client id'],
    custom_fetch: fetch,
    retryDelay: 1, // in milliseconds
    retryJitter: 1,
  }
  const newClient = (options) => gateway({ ...config, storage: new MemoryStorageFactory(), ...options })
  const admin = newClient({ client_secret: values['client secret'] })
  const shopper = newClient({ headers: { 'EP-Account-Management-Authentication-Token': values['account token'] } })
  const guest = newClient({})

  await authenticate(calls, admin, guest)
  await listSubscriptions(calls, admin, shopper, guest)
  await oneSubscription(calls, admin, shopper)
  await carts(calls, admin, guest)
  await settings(calls, admin) // last: it holds for new carts
}

async function authenticate(calls, admin, guest) {
  await calls.call('Authenticate(), with a client secret', {
    status: 200, returns: 'token Bearer, 3600 s, client_credentials',
  }, () => admin.Authenticate())
  await calls.call('Authenticate(), without one', {
    status: 200, returns: 'token Bearer, 3600 s, implicit',
  }, () => guest.Authenticate())
}

async function listSubscriptions(calls, admin, shopper, guest) {
  const list = (call, want, run) => calls.call(`Subscriptions.${call}`, { status: 200, ...want }, run)
  const { Subscriptions } = admin

  await list('All()', {
    returns: '25 subscriptions, order-000100 to order-000076, more follow',
  }, () => Subscriptions.All())
  await list('Filter({eq}).All()', {
    returns: '3 subscriptions, order-000005, order-000003, order-000001',
  }, () => Subscriptions.Filter({ eq: { email: 'subscriber-0001@example.com' } }).All())
  await list('Filter({eq}).All(), two fields', {
    returns: '1 subscription, order-000007',
  }, () => Subscriptions.Filter({ eq: { name: 'Ron Swanson', external_ref: 'order-000007' } }).All())
  await list('Filter({in}).All()', {
    returns: '2 subscriptions, order-000009, order-000007',
  }, () => Subscriptions.Filter({ in: { external_ref: ['order-000007', 'order-000009'] } }).All())
  await list('Filter({in}).All(), quoted by the caller', {
    returns: '2 subscriptions, order-000009, order-000007',
  }, () => Subscriptions.Filter({ in: { external_ref: ['"order-000007"', '"order-000009"'] } }).All())
  await list('Limit(40).Offset(80).All()', {
    returns: '20 subscriptions, order-000020 to order-000001',
  }, () => Subscriptions.Limit(40).Offset(80).All())
  await list("With(['plans', 'products']).Limit(2).All()", {
    status: { first: 200, second: 400 },
    returns: {
      first: '2 subscriptions, order-000100, order-000099, more follow, with 4 plans and 3 products',
      second: `rejects: ${refusals.include('second')}`,
    },
    why: why.include,
  }, () => Subscriptions.With(['plans', 'products']).Limit(2).All())
  await list("With(['plans', 'pricing_options']).Limit(2).All()", {
    status: { first: 400, second: 200 },
    returns: {
      first: `rejects: ${refusals.include('first')}`,
      second: '2 subscriptions, order-000100, order-000099, more follow, with 3 plans and 4 pricing_options',
    },
    why: why.include,
  }, () => Subscriptions.With(['plans', 'pricing_options']).Limit(2).All())
  await list('All(), after these', {
    returns: '25 subscriptions, order-000100 to order-000076, more follow',
  }, () => Subscriptions.All())
  admin.storage.delete('epCredentials')
  await list('Limit(2).All(), without a token', {
    status: '200, 200', returns: '2 subscriptions, order-000100, order-000099, more follow',
  }, () => Subscriptions.Limit(2).All())
  await list('All(), after that', {
    returns: '2 subscriptions, order-000100, order-000099, more follow', why: why.leak,
  }, () => Subscriptions.All())
  await list('All(), with an account token', {
    status: '200, 200', returns: '3 subscriptions, order-000005, order-000003, order-000001', why: why.account,
  }, () => shopper.Subscriptions.All())
  await list('All(), with an implicit token alone', {
    status: 403, returns: `rejects: ${refusals.alone}`, why: why.alone,
  }, () => guest.Subscriptions.All())

  admin.storage.set('epCredentials', JSON.stringify({
    client_id: admin.config.client_id, access_token: 'revoked', expires: Date.now(),
  }))
  await list('Limit(2).All(), with a token that was revoked', {
    status: '401, 200, 200', returns: '2 subscriptions, order-000100, order-000099, more follow',
    why: why.revoked,
  }, () => Subscriptions.Limit(2).All())
}

async function oneSubscription(calls, admin, shopper) {
  const { Subscriptions, request } = admin
  const { data: [{ id }] } = await Subscriptions.Filter({ eq: { external_ref: 'order-000001' } }).All()
  calls.name(id, 'subscription')
  const states = `subscriptions/subscriptions/${id}/states`

  await calls.call('Subscriptions.Get(id)', {
    status: 200, returns: 'subscription order-000001, active',
  }, () => Subscriptions.Get(id))
  const { data: [other] } = await Subscriptions.Filter({ eq: { external_ref: 'order-000002' } }).All()
  calls.name(other.id, 'subscription of another account')
  await calls.call('Subscriptions.Get(id), with the token of another account', {
    status: 404, returns: `rejects: ${refusals.subscription}`, why: why.other,
  }, () => shopper.Subscriptions.Get(other.id))
  await calls.call("Subscriptions.With(['plans', 'products']).Get(id)", {
    status: { first: 200, second: 400 },
    returns: {
      first: 'subscription order-000001, active, with 2 plans and 2 products',
      second: `rejects: ${refusals.include('second')}`,
    },
    why: why.include,
  }, () => Subscriptions.With(['plans', 'products']).Get(id))
  await calls.call("Subscriptions.With(['plans', 'pricing_options']).Get(id)", {
    status: { first: 400, second: 200 },
    returns: {
      first: `rejects: ${refusals.include('first')}`,
      second: 'subscription order-000001, active, with 2 plans and 2 pricing_options',
    },
    why: why.include,
  }, () => Subscriptions.With(['plans', 'pricing_options']).Get(id))
  await calls.call("Subscriptions.CreateState(id, 'pause')", {
    status: 204, returns: '"{}"', why: why.text,
  }, () => Subscriptions.CreateState(id, 'pause'))
  await calls.call('Subscriptions.Get(id), after it', {
    status: 200, returns: 'subscription order-000001, paused',
  }, () => Subscriptions.Get(id))
  await calls.call("Subscriptions.CreateState(id, 'cancel')", {
    status: 204, returns: '"{}"', why: why.text,
  }, () => Subscriptions.CreateState(id, 'cancel'))
  const list = await calls.call("request.send('…/states', 'GET')", {
    status: 200, returns: 'states: pause, cancel', why: why.states,
  }, () => request.send(states, 'GET'))
  const state = calls.name(list.data?.[0]?.id, 'state')
  await calls.call("request.send('…/states/…', 'GET')", {
    status: 200, returns: 'state pause', why: why.states,
  }, () => request.send(`${states}/${state}`, 'GET'))
  const { data: now } = await Subscriptions.Get(id)
  calls.check('the state of the subscription is its newest one', now.meta.state?.attributes.action, 'cancel')
}

async function settings(calls, admin) {
  const { Settings } = admin
  await calls.call('Settings.All()', {
    status: 200, returns: 'settings: page_length 25, custom_discount_limit 5',
  }, () => Settings.All())
  await calls.call('Settings.Cart()', {
    status: 200, returns: 'settings: custom_discounts_enabled false',
  }, () => Settings.Cart())
  await calls.call('Settings.UpdateCart({discounts})', {
    status: 200, returns: 'settings: custom_discounts_enabled true',
  }, () => Settings.UpdateCart({ discounts: { custom_discounts_enabled: true } }))
  await calls.call('Settings.Cart(), after it', {
    status: 200, returns: 'settings: custom_discounts_enabled true',
  }, () => Settings.Cart())
  const created = await calls.call('Cart().CreateCart({name}), after it', {
    status: 201, returns: 'cart test, discounts enabled, total 0', why: why.settings,
  }, () => admin.Cart().CreateCart({ name: 'test' }))
  await admin.Cart(created.data?.id).Delete()
}

async function carts(calls, admin, guest) {
  const created = await calls.call('Cart().CreateCart({name, discount_settings})', {
    status: 201, returns: 'cart test, discounts enabled, total 0',
  }, () => admin.Cart().CreateCart({ name: 'test', discount_settings: { custom_discounts_enabled: true } }))
  const id = calls.name(created.data?.id, 'cart')
  const cart = () => admin.Cart(id) // has options, which must not leak into the next call
  const call = (text, want, run) => calls.call(`Cart(id).${text}`, want, run)
  const read = async (when, returns) => call(`With(['items', 'custom_discounts']).Get(), ${when}`, {
    status: 200, returns,
  }, () => cart().With(['items', 'custom_discounts']).Get())

  const items = await addItems(calls, call, cart)
  await addDiscounts({ calls, call, cart, read, items })
  await changeDiscounts({ calls, call, cart, read, items })

  await call('AddCartCustomDiscount(…), with an implicit token', {
    status: 403, returns: `rejects: ${refusals.implicit}`, why: why.implicit,
  }, () => guest.Cart(id).AddCartCustomDiscount(discount('guest', -1)))
  await call('RemoveItem(item)', { status: 200, returns: `items ${lastItem}` }, () => cart().RemoveItem(items.custom))
  await read('after it', cartText(29500, lastItem, 'cart-2 -200, cart-3 -300', 'none'))
  await call('Delete()', { status: 204, returns: '"{}"', why: why.text }, () => cart().Delete())
  await read('after it', emptyCart)
}

/** Adds a custom item and a product, and returns their ids. */
async function addItems(calls, call, cart) {
  const custom = await call('AddCustomItem({name, sku, quantity, price})', {
    status: 201, returns: 'items custom-1 2 x 5000',
  }, () => cart().AddCustomItem({ name: 'Engraving', sku: 'custom-1', quantity: 2, price: { amount: 5000 } }))
  const product = calls.name('11111111-2222-4333-8444-555555555555', 'product')
  const all = await call('AddProduct(id, 3)', {
    status: 201, returns: `items ${bothItems}`,
  }, () => cart().AddProduct(product, 3))
  const items = {
    custom: calls.name(custom.data?.[0]?.id, 'custom item'),
    product: calls.name(all.data?.[1]?.id, 'product item'),
  }
  calls.name(noItem, 'no item')
  calls.check('the product of the item', all.data?.[1]?.product_id, product)
  const read = await call("With('custom_discounts').Items()", {
    status: 200, returns: `items ${bothItems}`,
  }, () => cart().With('custom_discounts').Items())
  calls.check('the items of the cart are those added', read.data, all.data)
  return items
}

async function addDiscounts({ calls, call, cart, read, items }) {
  const bulk = [
    discount('cart-1', -1000),
    discount('item-1', -500, { type: 'custom_item', id: items.custom }),
  ]
  const added = await call('BulkAddCartCustomDiscount(list, options)', {
    status: 201, returns: 'discounts cart-1 -1000, item-1 -500',
  }, () => cart().BulkAddCartCustomDiscount(bulk, { add_all_or_nothing: true }))
  await call('BulkAddCartCustomDiscount(list)', {
    status: 400, returns: `rejects: ${refusals.twice}`, why: why.twice,
  }, () => cart().BulkAddCartCustomDiscount([discount('cart-x', -1)]))
  const partial = await call('BulkAddCartCustomDiscount(list, options), one refused', {
    status: 201, returns: `discounts cart-2 -200; ${refusals.item}`, why: why.partial,
  }, () => cart().BulkAddCartCustomDiscount([
    discount('cart-2', -200),
    discount('item-x', -1, { type: 'cart_item', id: noItem }),
  ], { add_all_or_nothing: false }))
  const one = await call('AddCartCustomDiscount(discount)', {
    status: 201, returns: 'discount cart-3 -300',
  }, () => cart().AddCartCustomDiscount(discount('cart-3', -300)))
  await call('AddItemCustomDiscount(item, discount)', {
    status: 404, returns: 'rejects: 404 Not Found There is no such endpoint', why: why.doubleSlash,
  }, () => cart().AddItemCustomDiscount(items.product, discount('item-y', -1)))

  const after = await read('after these',
    cartText(38000, bothItems, 'cart-1 -1000, cart-2 -200, cart-3 -300', 'item-1 -500'))
  const sent = [...bulk, discount('cart-2', -200), discount('cart-3', -300)]
  checkDiscounts(calls, sent, [added, partial, one].flatMap((body) => body.data), after)
  items.cart1 = added.data?.[0]?.id
  items.item1 = added.data?.[1]?.id
}

async function changeDiscounts({ calls, call, cart, read, items }) {
  const updates = [
    await call('UpdateCartCustomDiscount(id, discount)', {
      status: 200, returns: 'discount cart-1 -1500',
    }, () => cart().UpdateCartCustomDiscount(items.cart1, { amount: -1500, description: 'changed' })),
    await call('UpdateItemCustomDiscount(item, id, discount)', {
      status: 200, returns: 'discount item-1 -700',
    }, () => cart().UpdateItemCustomDiscount(items.custom, items.item1, { amount: -700 })),
  ]
  const after = await read('after the updates',
    cartText(37300, bothItems, 'cart-1 -1500, cart-2 -200, cart-3 -300', 'item-1 -700'))
  const sent = [{ ...discount('cart-1', -1500), description: 'changed' }, discount('item-1', -700)]
  checkDiscounts(calls, sent, updates.map((body) => body.data), after)
  await call('RemoveCartCustomDiscount(id), of an item', {
    status: 404, returns: `rejects: ${refusals.level}`, why: why.level,
  }, () => cart().RemoveCartCustomDiscount(items.item1))
  await call('RemoveCartCustomDiscount(id)', {
    status: 204, returns: '"{}"', why: why.text,
  }, () => cart().RemoveCartCustomDiscount(items.cart1))
  await call('RemoveItemCustomDiscount(item, id)', {
    status: 204, returns: '"{}"', why: why.text,
  }, () => cart().RemoveItemCustomDiscount(items.custom, items.item1))
  await read('after the deletes', cartText(39500, bothItems, 'cart-2 -200, cart-3 -300', 'none'))
}
