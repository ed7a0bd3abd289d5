// Compares the members of the types in index.d.ts with those that the store has.
//
//   epcommerce serve --openapi | node members.mjs index.d.ts

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const types = readFileSync(process.argv[2], 'utf8')
const { components: { schemas }, paths } = JSON.parse(readFileSync(0, 'utf8'))

function membersOf(...interfaces) {
  const bodies = interfaces.map((name) => types.match(new RegExp(`^export interface ${name} [^]*?^}`, 'm'))[0])
  return bodies.flatMap((body) => [...body.matchAll(/^  (\w+)\??:/gm)].map(([, member]) => member))
}

const namesOf = (schema) => Object.keys(schema.properties)
for (const [got, want] of [
  [membersOf('Fault'), namesOf(schemas.Fault)],
  [membersOf('Match'), namesOf(schemas.Fault.properties.match)],
  [membersOf('CartFixture'), namesOf(schemas.CartFixture)],
  [membersOf('ItemFixture'), namesOf(schemas.CartFixture.properties.items.items)],
  [membersOf('Cart', 'CartContent'), namesOf(schemas.CartEntry)],
  [membersOf('Item'), namesOf(schemas.CartEntry.properties.items.items)],
  [membersOf('Discount'), namesOf(schemas.CartEntry.properties.discounts.items)],
  [membersOf('Money'), namesOf(schemas.CartEntry.properties.total)],
  [membersOf('StoreRequest'), namesOf(schemas.RequestList.properties.requests.items)],
  [membersOf('RequestFilter', 'WaitFilter'), paths['/_store/wait'].get.parameters.map(({ name }) => name)],
]) assert.deepEqual(got.sort(), want.sort(), 'index.d.ts has other members than the store')
