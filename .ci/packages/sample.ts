// Uses the API of the npm package, for tsc: what is expected to be an error must be one.

import { startStore, type Fault, type StoreRequest } from '@epcommerce/fake-store'

const fault: Fault = { operation: 'add', match: { header: { 'X-Worker': '7' } }, apply: true, cut: true }

export async function use(): Promise<StoreRequest[]> {
  await using server = await startStore({ url: undefined, token: 'a', args: ['--subscriptions', '10'] })
  await using store = await server.namespace({ name: 'worker-7', rate_limit: 2, generation: 'first' })
  const { id, total } = await store.cart({ items: [{ price: 2500, quantity: 2, type: 'cart_item' }], discounts: [] })
  const number: number = await store.fault({ ...fault, header: { 'Retry-After': '2' }, body: { errors: [] } })
  const [add] = await store.wait({ operation: 'add', cart: id, pending: 0, timeout: '2s' })
  const text: string | undefined = add?.after?.discounts[0]?.amount.formatted
  await store.control('POST', 'stubs', { method: 'GET', path: '/v2/returns/{id}', body: { number, text, total } })
  return store.requests({ cart: id, since: add?.id, state: 'ended' })
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error no option
  const store = await startStore({ port: 8080 })
  // @ts-expect-error no member of a fault
  await store.fault({ stauts: 503 })
  // @ts-expect-error no operation
  await store.fault({ operation: 'ad', status: 503 })
  // @ts-expect-error no operation
  await store.wait({ operation: 'ad' })
  // @ts-expect-error no text
  await store.fault({ match: { header: { 'X-Worker': 7 } }, status: 503 })
  // @ts-expect-error no setting
  await store.namespace({ rate: 2 })
  // @ts-expect-error no generation
  await store.namespace({ generation: 'third' })
  // @ts-expect-error no type of an item
  await store.cart({ items: [{ type: 'gift' }] })
  // @ts-expect-error no member of an item
  await store.cart({ items: [{ prise: 2500 }] })
  // @ts-expect-error no state
  await store.requests({ state: 'pending' })
  // @ts-expect-error an empty cart has no currency
  const currency: string = (await store.cart({ items: [] })).total.currency
  // @ts-expect-error no method
  await store.reset()
}
