// Prints store.d.ts of the npm package: the types of what a store takes and returns.
//
//   epcommerce serve --openapi | node types.mjs >store.d.ts

import { readFileSync } from 'node:fs'

const { components: { schemas }, paths } = JSON.parse(readFileSync(0, 'utf8'))
const { Fault, CartFixture, CartEntry } = schemas
const request = schemas.RequestList.properties.requests.items

/** The parameters of a query, as the schema of an object. */
function queryOf(path) {
  const { parameters } = paths[path].get
  return { type: 'object', properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])) }
}

// Members of requests may be absent, and so may those of responses that can be null or are here.
const absent = ['relationships', 'currency']
const requests = {
  Operation: Fault.properties.operation, State: request.properties.state,
  Fault, Match: Fault.properties.match,
  CartFixture, ItemFixture: CartFixture.properties.items.items, DiscountFixture: CartFixture.properties.discounts.items,
  SubscriptionFixture: schemas.SubscriptionFixture, Stub: schemas.Stub, Settings: schemas.NamespaceFixture,
  RequestFilter: queryOf('/_store/requests'), WaitFilter: queryOf('/_store/wait'),
}
const responses = {
  Money: CartEntry.properties.total, Item: CartEntry.properties.items.items,
  Discount: CartEntry.properties.discounts.items, CartContent: request.properties.before,
  Cart: CartEntry, StoreRequest: request,
}

const kindsOf = (schema) => [schema.type ?? 'any'].flat().filter((kind) => kind !== 'null')
const keyOf = ({ description, ...schema }) => JSON.stringify({ ...schema, type: kindsOf(schema) })
const names = new Map(Object.entries({ ...requests, ...responses }).map(([name, schema]) => [keyOf(schema), name]))

function typeOf(schema, isResponse, indent) {
  const name = names.get(keyOf(schema))
  if (name) return isResponse && schema.enum?.includes('') ? `${name} | ''` : name
  return schema.enum ? unionOf(schema) : kindsOf(schema).map((kind) => {
    if (kind === 'any') return isResponse ? 'any' : 'unknown'
    if (kind === 'integer') return 'number'
    if (kind === 'array') return `${typeOf(schema.items, isResponse, indent)}[]`
    if (kind !== 'object') return kind
    if (schema.properties) return membersOf(schema.properties, isResponse, indent)
    return `Record<string, ${typeOf(schema.additionalProperties, isResponse, indent)}>`
  }).join(' | ')
}

const unionOf = (schema) => schema.enum.filter(Boolean).map((text) => `'${text}'`).join(' | ')

function membersOf(properties, isResponse, indent = '') {
  const members = Object.entries(properties).map(([name, schema]) => {
    const isOptional = !isResponse || [schema.type].flat().includes('null') || absent.includes(name)
    const type = typeOf(schema, isResponse, `${indent}  `)
    return `${commentOf(schema, `${indent}  `)}${indent}  ${name}${isOptional ? '?' : ''}: ${type}\n`
  })
  return `{\n${members.join('')}${indent}}`
}

function commentOf({ description }, indent) {
  if (!description) return ''
  const lines = description.replaceAll('*/', '*\\/').match(/.{1,100}(?= |$)/g)
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line.trim()}`), `${indent} */\n`].join('\n')
}

function print(types, isResponse) {
  for (const [name, schema] of Object.entries(types)) {
    if (schema.enum) console.log(`\nexport type ${name} = ${unionOf(schema).match(/.{1,95}(?= \||$)/g).join('\n ')}`)
    else console.log(`\nexport interface ${name} ${membersOf(schema.properties, isResponse)}`)
  }
}

console.log('// Made by .ci/packages/types.mjs from what `epcommerce serve --openapi` prints.')
print(requests, false)
print(responses, true)
