// The document that epcommerce serve --openapi prints is one of OpenAPI 3.1, by a public validator, and the types of
// the npm package are made from it.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Validator } from '@seriousme/openapi-schema-validator'

const document = JSON.parse(execFileSync(process.env.EPCOMMERCE, ['serve', '--openapi']))

test('the document is valid', async () => {
  const validator = new Validator()
  assert.deepEqual(await validator.validate(document), { valid: true })
  assert.equal(validator.version, '3.1')
  const { content } = validator.resolveRefs().paths['/_store/faults'].post.requestBody
  assert.ok(content['application/json'].schema.properties.cut)
})

test('the validator finds a mistake', async () => {
  const spoiled = structuredClone(document)
  delete spoiled.paths['/_store/faults'].post.responses
  spoiled.paths['/_store/faults'].post.parameters = [{ name: 'a' }]
  assert.equal((await new Validator().validate(spoiled)).valid, false)
})

test('the types of the npm package are those of the store', () => {
  const program = fileURLToPath(new URL('../packages/types.mjs', import.meta.url))
  const types = execFileSync(process.execPath, [program], { input: JSON.stringify(document), encoding: 'utf8' })
  const url = new URL('../../cmd/epcommerce/npm/store.d.ts', import.meta.url)
  assert.equal(readFileSync(url, 'utf8'), types, 'store.d.ts is stale: .ci/packages/types.mjs says how to make it')
})
