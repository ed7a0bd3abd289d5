// Mistakes that an author of tests makes: a test with one fails, and one line shows what is wrong. The tests
// are in mistakes.mjs and test_mistakes.py. SHOW=1 prints the lines.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { startStore } from '../vendor-clients/store.mjs'

/** A part of the line that shows each mistake, in both languages. */
const lines = {
  // The end of a test shows the fault, and what came instead.
  'typo in match.path':
    /fault 1 was not met: .*"path \/v2\/cart\/\*\/custom-discounts".*; the last requests were "add" POST/,
  'match.path without its end':
    /fault 1 was not met: .*"path \/v2\/carts\/\*".* were "add" POST \S+\/custom-discounts$/,
  'other operation': /fault 1 was not met: .*"operation":"items".* were "add" POST \S+\/custom-discounts$/,
  'operation of an item': /fault 1 was not met: .*"add item discount".* were "add" POST \/v2\/carts\/\S+$/,
  'always, but never met': /fault 1 was not met: .*"delete discounts".*"left":-1.* were "add" POST \S+$/,
  'other cart in match.cart': /fault 1 was not met: .*"cart 00000000-\S+".* were "add" POST \/v2\/carts\/e464336d-\S+$/,
  'after more requests than come': /fault 1 was not met: .*"after":1.* were "add" POST \S+$/,
  'other text in match.body': /fault 1 was not met: .*"body twenty-off".* were "add" POST \S+$/,
  'other value in match.header': /"header X-Worker: 7","missed":"\S+ header X-Worker".* were "add" POST \S+$/,
  'more times than tries': /fault 1 was met 2 of 3 times: .*"operation":"add"/,
  'stub that is never met': /the stub GET \/v2\/order\/\{id\} was not met; the last requests were "add" POST/,
  'look before a late write': /"add" POST \S+ is pending: GET \/_store\/wait\?pending=0 waits for it/,
  'end before a late write': /"add" POST \S+ is pending: GET \/_store\/wait\?pending=0 waits for it/,
  'client that gives up before a late write': /"add" POST \S+ is pending: GET \/_store\/wait\?pending=0 waits for it/,

  // The store refuses what a test asks for.
  'path with :id in a fault': /match.path "\/v2\/carts\/:id\/\S+ must be written \/v2\/carts\/\{id\}\/custom-/,
  'path with ** in a fault': /match.path "\/v2\/carts\/\*\*" must be written \/v2\/carts\/\*:/,
  'path with <id> in a fault': /match.path "\/v2\/carts\/<id>\S+ must be written \/v2\/carts\/\{id\}\/custom-/,
  'path with one brace in a fault': /match.path "\/v2\/carts\/\{id\/\S+ must be written \/v2\/carts\/\{id\}\/custom-/,
  'path with a host in a fault': /match.path must be a path that begins with \//,
  'path with a query in a fault': /match.path "\/v2\/carts\/\*\?include=items" must have no query/,
  'path with :id in a stub': /path "\/v2\/returns\/:id" must be written \/v2\/returns\/\{id\}:/,
  'path with ** in a stub': /path "\/v2\/returns\/\*\*" must be written \/v2\/returns\/\*:/,
  'path with <id> in a stub': /path "\/v2\/returns\/<id>" must be written \/v2\/returns\/\{id\}:/,
  'path with one brace in a stub': /path "\/v2\/returns\/\{id" must be written \/v2\/returns\/\{id\}:/,
  'path with a query in a stub': /path "\/v2\/returns\?page=1" must have no query/,
  'unknown operation': /operation must be one of \["accounts" "add" "add item" .*\]/,
  'stauts in a fault': /POST \/_store\/faults: unknown member "stauts"; there are .* status, times/,
  'headers in a fault': /POST \/_store\/faults: unknown member "headers"; there are .* header, /,
  'headers in a stub': /POST \/_store\/stubs: unknown member "headers"; there are body, header, /,
  'carts in match': /POST \/_store\/faults: unknown member "carts"; there are .*cart, /,
  'cart for carts in a wait': /GET \/_store\/wait: unknown member "carts"; there are .*cart, /,
  'fault without an effect': /status, cut, late, delay, body and header are unset: the fault changes nothing/,
  'delay as a number': /member "\/delay": must be a text such as "2s"/,
  'stub for a path of the store': /the store has this endpoint itself: a fault can change its responses/,
  'price that is not whole':
    /POST \/_store\/carts: member "\/items\/0\/price" must be a whole number, not 1998.9999999999998/,
  'match without a member': /match must have a member that is not empty, or be absent for all requests/,
  'amount that is not whole': /"detail":"data\[0\].amount must be a whole number"/,

  // What a test waits for does not come.
  'wait for another operation': /waited 50ms for 1 request \(operation items\), and 0 came; .* "add" POST \//,
  'wait for two': /waited 50ms for 2 requests \(operation add\), and 1 came; .* "add" POST \//,
  'wait with pending=0 for what never came': /1 request and at most 0 pending \(operation items\), and 0 came;/,
  'wait for another cart': /1 request \(operation add, cart 00000000-\S+\), and 0 came; .* "add" POST \/v2\/carts\/e46/,
  'wait for a cart that is undefined': /1 request \(operation add, cart (undefined|None)\), and 0 came; .* "add" POST/,
  'token forgotten by the shop':
    /1 request \(operation add\), and 0 came; .* got no request at all: a request without its token goes to first/,
  'token of the first namespace in the shop': /1 request \(operation add\), and 0 came; .* got no request at all/,

  'token forgotten by the test': /The request must have the token of a namespace: there are \d+ of them/,

  // What a client does wrong.
  'lost response, and tried again': /'ten-off-1 ten-off-1'/,
}

const here = fileURLToPath(new URL('.', import.meta.url))
let store
before(async () => { store = await startStore(process.env.EPCOMMERCE, '--token', 'first') })
after(() => store.stop())

/** Runs a command, and returns what it prints. */
function run(command, ...args) {
  const { NODE_TEST_CONTEXT, ...env } = process.env // the mistakes are not tests of this one
  const options = { cwd: here, env: { ...env, STORE: store.values.address, NO_COLOR: '1' } }
  return new Promise((resolve) => { execFile(command, args, options, (error, stdout) => resolve(stdout)) })
}

/** Returns the lines of each test that failed, by its name, without its code. header finds the first line of each. */
function failuresOf(text, header) {
  const failures = {}
  const [, ...parts] = text.split(header)
  for (let i = 0; i < parts.length; i += 2) {
    const printed = parts[i + 1].split('\n').filter((line) => !/^( {4}|>)/.test(line))
    failures[parts[i]] = [...failures[parts[i]] ?? [], ...printed]
  }
  return failures
}

function check(failures) {
  for (const [name, line] of Object.entries(lines)) {
    assert.ok(failures[name], `the test with the mistake "${name}" is green`)
    const found = failures[name].find((text) => line.test(text))
    assert.ok(found, `${name}: no line fits ${line}:\n${failures[name].join('\n')}`)
    if (process.env.SHOW) console.log(`${name}: ${found.trim()}`)
  }
  assert.deepEqual(Object.keys(failures).sort(), Object.keys(lines).sort())
}

test('in JavaScript', async () => {
  const text = await run(process.execPath, '--test', '--test-reporter=spec', 'mistakes.mjs')
  check(failuresOf(text.split('failing tests:')[1] ?? '', /^✖ (.+) \([\d.]+ms\)$/m))
})

test('in Python', async () => {
  const text = await run(process.env.PYTHON ?? 'python3', '-m', 'pytest', '-p', 'no:cacheprovider', 'test_mistakes.py')
  check(failuresOf(text.split('short test summary')[0], /^_+ (?:ERROR at \w+ of )?test_mistake\[(.+)\] _+$/m))
})
