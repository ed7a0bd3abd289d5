// One of eight workers that run at the same time, in node:test or vitest. test_worker.py is the same in Python.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'

import { withStore } from './store.mjs'

const { test } = await import(process.env.VITEST ? 'vitest' : 'node:test')
const me = `worker ${randomUUID()}`

// The workers meet at a request that each sends to the first namespace, so that none is alone.
const { STORE, WORKERS } = process.env
await fetch(`${STORE}/v2/settings`, { headers: { Authorization: 'Bearer first' } })
const meeting = await fetch(`${STORE}/_store/wait?operation=settings&count=${WORKERS}&timeout=30s`,
  { headers: { Authorization: 'Bearer first' } })
assert.equal(meeting.status, 200, await meeting.text())

for (let round = 1; round <= 5; round++) {
  test(`round ${round}`, withStore(async (store) => {
    const headers = { Authorization: `Bearer ${store.token}`, 'Content-Type': 'application/json' }
    const settings = async () => (await fetch(`${STORE}/v2/settings`, { headers })).text()
    const add = async (id) => {
      const body = JSON.stringify({ data: [{
        type: 'custom_discount', amount: -1, description: me, discount_code: 'c', discount_engine: 'e', external_id: id,
      }] })
      return (await fetch(`${STORE}/v2/carts/${store.cart}/custom-discounts`, { method: 'POST', headers, body })).status
    }

    await store.post('faults', { operation: 'settings', status: 503, body: me, times: 4 })
    await store.post('faults', { operation: 'add', late: true, delay: '20ms', status: 504 })
    const bodies = []
    for (let i = 0; i < 6; i++) bodies.push(await settings())
    assert.deepEqual(bodies.slice(0, 4), Array(4).fill(me))
    assert.doesNotMatch(bodies.slice(4).join(), /worker/)

    assert.equal(await add('late'), 504)
    await store.get('wait', { operation: 'add', pending: 0 })
    assert.equal(await add('second'), 201)
    const { carts } = await store.get('carts')
    assert.deepEqual(carts.map((cart) => cart.discounts.map((d) => `${d.external_id} of ${d.description}`)),
      [[`late of ${me}`, `second of ${me}`]])
    const { requests } = await store.get('requests')
    assert.deepEqual(requests.map((r) => r.operation), [...Array(6).fill('settings'), 'add', 'add'])
  }))
}
