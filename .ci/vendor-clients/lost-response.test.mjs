// Shows what the vendor's SDK does if the response to an add is lost: it throws, and the discount is
// on the cart. docs/tool-serve.md describes the requests that make the fake store do that.
//
//   EPCOMMERCE=path/of/epcommerce node --test lost-response.test.mjs

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'

import { gateway, MemoryStorageFactory } from '@elasticpath/js-sdk'

import { discount } from './shared.mjs'
import { newControl, startStore } from './store.mjs'

let store
let control
before(async () => {
  store = await startStore(process.env.EPCOMMERCE)
  control = newControl(store.values.address, store.values.token)
})
after(() => store.stop())
beforeEach(() => control('POST', 'reset'))

function newSDK() {
  console.info = () => {} // the SDK reports each token that it gets
  return gateway({
    host: new URL(store.values.address).host,
    protocol: 'http',
    client_id: store.values['client id'],
    client_secret: store.values['client secret'],
    storage: new MemoryStorageFactory(),
  })
}

test('the response to an add is lost', async () => {
  const { id } = await control('POST', 'carts')
  const cart = () => newSDK().Cart(id)
  const options = { add_all_or_nothing: true } // without options the SDK sends a body that the service refuses
  const add = () => cart().BulkAddCartCustomDiscount([discount('ten-off', -1000)], options)
  const onCart = async () => {
    const { included } = await cart().With('custom_discounts').Get()
    return included.custom_discounts.map((d) => d.external_id)
  }

  await control('POST', 'faults', { operation: 'add', apply: true, cut: true })
  await assert.rejects(add, { name: 'TypeError', message: 'fetch failed' })
  const { requests } = await control('GET', 'requests')
  const adds = requests.filter((r) => r.operation === 'add')
  assert.deepEqual(adds.map((r) => r.status), [0], 'the SDK sends the add once, and gets no response')
  assert.deepEqual(adds.map((r) => r.body.data.map((d) => d.external_id)), [['ten-off']])
  assert.deepEqual(await onCart(), ['ten-off'], 'the discount is on the cart, though the SDK threw')

  await add() // what a caller would do who takes the error for a failure
  assert.deepEqual(await onCart(), ['ten-off', 'ten-off'], 'the discount is on the cart twice')
})
