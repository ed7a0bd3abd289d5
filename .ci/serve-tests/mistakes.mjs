// Tests with one mistake each: they must fail. mistakes.test.mjs has the line that shows each mistake.
// test_mistakes.py is the same in Python.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { withStore } from './store.mjs'

const mistake = (name, body) => test(name, withStore(body))
const nowhere = '00000000-0000-4000-8000-000000000000' // a cart that does not exist
const discount = {
  type: 'custom_discount', amount: -1000, description: 'Ten dollars off', discount_code: 'TEN-OFF',
  discount_engine: 'shop', external_id: 'ten-off-1',
}

// The code under test, of a shop: it adds a discount, and tries again after an error. It does not look
// at the cart first.
async function addDiscount({ address, token, cart }, changes, signal) {
  const url = `${address}/v2/carts/${cart}/custom-discounts`
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ data: [{ ...discount, ...changes }] })
  for (let tries = 1; ; tries++) {
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal })
      if (response.ok) return
      throw new Error(`${response.status}: ${(await response.text()).replace(/\s+/g, ' ')}`)
    } catch (error) {
      if (tries === 2) throw error
    }
  }
}

// The discounts of the cart, as a text.
async function discountsOf(store) {
  const { carts } = await store.get('carts')
  return carts[0].discounts.map((d) => d.external_id).join(' ')
}

// Faults that nothing meets.
const unmet = {
  'typo in match.path': { status: 503, match: { path: '/v2/cart/*/custom-discounts' } },
  'match.path without its end': { status: 503, match: { path: '/v2/carts/*' } },
  'other operation': { operation: 'items', status: 503 },
  'operation of an item': { operation: 'add item discount', status: 503, times: 2 },
  'always, but never met': { operation: 'delete discounts', status: 503, always: true },
  'other cart in match.cart': { status: 503, match: { cart: nowhere } },
  'after more requests than come': { operation: 'add', status: 503, after: 1 },
  'other text in match.body': { status: 503, match: { body: 'twenty-off' } },
  'other value in match.header': { status: 503, match: { header: { 'X-Worker': '7' } } },
}
for (const [name, fault] of Object.entries(unmet)) {
  mistake(name, async (store) => {
    await store.post('faults', fault)
    await addDiscount(store)
    assert.equal(await discountsOf(store), 'ten-off-1')
  })
}

// Faults and stubs that the store refuses.
const refused = {
  'path with :id in a fault': ['faults', { status: 503, match: { path: '/v2/carts/:id/custom-discounts' } }],
  'path with ** in a fault': ['faults', { status: 503, match: { path: '/v2/carts/**' } }],
  'path with <id> in a fault': ['faults', { status: 503, match: { path: '/v2/carts/<id>/custom-discounts' } }],
  'path with one brace in a fault': ['faults', { status: 503, match: { path: '/v2/carts/{id/custom-discounts' } }],
  'path with a host in a fault': ['faults', { status: 503, match: { path: 'http://127.0.0.1:8080/v2/carts/*' } }],
  'path with a query in a fault': ['faults', { status: 503, match: { path: '/v2/carts/*?include=items' } }],
  'path with :id in a stub': ['stubs', { method: 'GET', path: '/v2/returns/:id' }],
  'path with ** in a stub': ['stubs', { method: 'GET', path: '/v2/returns/**' }],
  'path with <id> in a stub': ['stubs', { method: 'GET', path: '/v2/returns/<id>' }],
  'path with one brace in a stub': ['stubs', { method: 'GET', path: '/v2/returns/{id' }],
  'path with a query in a stub': ['stubs', { method: 'GET', path: '/v2/returns?page=1' }],
  'unknown operation': ['faults', { operation: 'add discount', status: 503 }],
  'stauts in a fault': ['faults', { operation: 'add', stauts: 503 }],
  'headers in a fault': ['faults', { operation: 'add', status: 429, headers: { 'Retry-After': '2' } }],
  'headers in a stub': ['stubs', { method: 'GET', path: '/v2/returns', headers: { 'Retry-After': '2' } }],
  'carts in match': ['faults', { operation: 'add', status: 503, match: { carts: nowhere } }],
  'fault without an effect': ['faults', { operation: 'add', apply: true }],
  'delay as a number': ['faults', { operation: 'add', delay: 2000 }],
  'stub for a path of the store': ['stubs', { method: 'GET', path: '/v2/carts/{id}' }],
  'price that is not whole': ['carts', { items: [{ price: 19.99 * 100 }] }],
}
for (const [name, [path, body]] of Object.entries(refused)) {
  mistake(name, async (store) => { await store.post(path, body) })
}

mistake('match without a member', async (store) => {
  await store.post('faults', { operation: 'add', status: 503, match: { cart: store.id } }) // no such member: undefined
  await addDiscount(store)
  assert.equal(await discountsOf(store), 'ten-off-1')
})
mistake('amount that is not whole', async (store) => {
  await addDiscount(store, { amount: -19.99 * 100 })
})

// Waits for what does not come.
const waits = {
  'wait for another operation': { operation: 'items' },
  'wait for two': { operation: 'add', count: 2 },
  'wait with pending=0 for what never came': { operation: 'items', pending: 0 },
  'wait for another cart': { operation: 'add', cart: nowhere },
  'wait for a cart that is undefined': { operation: 'add', cart: undefined },
}
for (const [name, query] of Object.entries(waits)) {
  mistake(name, async (store) => {
    await addDiscount(store)
    await store.get('wait', { ...query, timeout: '50ms' })
  })
}
mistake('cart for carts in a wait', async (store) => {
  await store.get('wait', { carts: store.cart, timeout: '50ms' })
})

mistake('stub that is never met', async (store) => {
  await store.post('stubs', { method: 'GET', path: '/v2/order/{id}', body: { data: {} } })
  await addDiscount(store)
})
mistake('token forgotten by the shop', async (store) => {
  await addDiscount({ ...store, token: '' }).catch(() => {})
  await store.get('wait', { operation: 'add', timeout: '50ms' })
})
mistake('token of the first namespace in the shop', async (store) => {
  await addDiscount({ ...store, token: 'first' })
  await store.get('wait', { operation: 'add', timeout: '50ms' })
})
mistake('token forgotten by the test', async (store) => {
  const body = JSON.stringify({ operation: 'add', status: 503 })
  const response = await fetch(`${store.address}/_store/faults`, { method: 'POST', body })
  if (!response.ok) throw new Error((await response.json()).errors[0].detail)
  await addDiscount(store)
  assert.equal(await discountsOf(store), 'ten-off-1')
})

mistake('more times than tries', async (store) => {
  await store.post('faults', { operation: 'add', status: 503, times: 3 })
  await assert.rejects(addDiscount(store))
})
mistake('look before a late write', async (store) => {
  await store.post('faults', { operation: 'add', late: true, status: 504, times: 2 })
  await addDiscount(store).catch(() => {})
  assert.equal(await discountsOf(store), 'ten-off-1')
})
mistake('end before a late write', async (store) => {
  await store.post('faults', { operation: 'add', late: true, status: 504 })
  await addDiscount(store)
  assert.equal(await discountsOf(store), 'ten-off-1') // that of the second try; the first comes later
})
mistake('client that gives up before a late write', async (store) => {
  await store.post('faults', { operation: 'add', late: true })
  await assert.rejects(addDiscount(store, {}, AbortSignal.timeout(200)), /TimeoutError/)
  assert.equal(await discountsOf(store), '')
})
mistake('lost response, and tried again', async (store) => {
  await store.post('faults', { operation: 'add', apply: true, cut: true })
  await addDiscount(store)
  assert.equal(await discountsOf(store), 'ten-off-1')
})
