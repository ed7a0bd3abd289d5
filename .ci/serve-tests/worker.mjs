// One of several test files that run side by side, each in a namespace of its own.
//
//   STORE=http://… WORKER=7 node --test worker.mjs

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'

const { STORE, WORKER } = process.env
const mine = 520 + Number(WORKER) // the status of the faults of this worker

let credentials
async function send(method, path, body) {
  const headers = { 'Content-Type': 'application/json' }
  if (credentials) headers.Authorization = `Bearer ${credentials.token}`
  const response = await fetch(STORE + path, { method, headers, body: body && JSON.stringify(body) })
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
}

beforeEach(async () => {
  credentials = undefined
  credentials = (await send('POST', '/_store/namespaces')).body
})
afterEach(async () => {
  const { faults } = (await send('GET', '/_store/faults')).body
  assert.deepEqual(faults.filter((f) => f.left > 0), [], 'faults that were not met')
  await send('DELETE', '/_store/namespaces')
})

for (let round = 1; round <= 20; round++) {
  test(`round ${round}`, async () => {
    await send('POST', '/_store/faults', { operation: 'settings', status: mine, times: 10 })
    await send('POST', '/_store/faults', { operation: 'add', apply: true, status: mine })
    const statuses = []
    for (let i = 0; i < 12; i++) statuses.push((await send('GET', '/v2/settings')).status)
    assert.deepEqual(statuses, [...Array(10).fill(mine), 200, 200])
    const { cart } = credentials
    const discount = {
      type: 'custom_discount', amount: -1, description: 'd', discount_code: 'c',
      discount_engine: 'w', external_id: WORKER,
    }
    assert.equal((await send('POST', `/v2/carts/${cart}/custom-discounts`, { data: [discount] })).status, mine)
    const { carts } = (await send('GET', '/_store/carts')).body
    assert.deepEqual(carts.map((c) => c.discounts.map((d) => d.external_id)), [[WORKER]])
    const { requests } = (await send('GET', '/_store/requests')).body
    assert.equal(requests.length, 13)
  })
}
