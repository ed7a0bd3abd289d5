// The programs of docs/tool-serve.md do what the page says, as a new user copies them.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { startStore } from '../vendor-clients/store.mjs'

const run = promisify(execFile)
const page = await readFile(new URL('../../docs/tool-serve.md', import.meta.url), 'utf8')
const programs = [...page.matchAll(/^```(js|python)\n([^]*?)^```/gm)].map(([, language, text]) => ({ language, text }))

let store
let folder
before(async () => {
  store = await startStore(process.env.EPCOMMERCE)
  folder = await mkdtemp(path.join(tmpdir(), 'commerce-docs-'))
  const packages = fileURLToPath(new URL('../vendor-clients/node_modules', import.meta.url))
  await symlink(packages, path.join(folder, 'node_modules'))
})
after(async () => {
  await store.stop()
  await rm(folder, { recursive: true })
})

/** Runs a program of the page, and returns what it prints. */
async function runProgram(name, text, command, ...args) {
  await writeFile(path.join(folder, name), text.replaceAll('127.0.0.1:8080', new URL(store.values.address).host))
  const { NODE_TEST_CONTEXT, ...env } = process.env // it is not a test of this one
  const { stdout, stderr } = await run(command, [...args, name], { cwd: folder, env })
  return stdout + stderr
}

const find = (word) => programs.find(({ text }) => text.includes(word)).text

/** Writes a file of the page. It is one of the files here, which other tests use. */
async function writeShared(name) {
  const text = await readFile(new URL(name, import.meta.url), 'utf8')
  assert.equal(find(` ${name}: `), text, `${name} of the page is another one`)
  await writeFile(path.join(folder, name), text.replaceAll('127.0.0.1:8080', new URL(store.values.address).host))
}

/** Writes the code under test, with a change. */
async function writeShop(name, change = (text) => text) {
  await writeFile(path.join(folder, name), change(await readFile(new URL(name, import.meta.url), 'utf8')))
}

test('the first test in JavaScript', async () => {
  await writeShared('store.mjs')
  await writeShop('shop.mjs')
  const text = find('// discounts.test.mjs')
  const runTest = (name, program) => runProgram(name, program, 'node', '--test')
  assert.match(await runTest('discounts.test.mjs', text), /# pass 2\n# fail 0/)
  // A fault that nobody meets, and a client that does not look first, make it fail.
  const unmet = text.replace("operation: 'add'", "operation: 'items', always: true")
  await assert.rejects(runTest('unmet.test.mjs', unmet),
    ({ stdout }) => stdout.match(/fault 1 was not met: .*"items"/g).length === 2)
  await writeShop('shop.mjs', (shop) => shop.replace('=== id', '=== url').replace('throw new', 'return new'))
  await assert.rejects(runTest('discounts.test.mjs', text), ({ stdout }) => stdout.includes('# fail 2'))
})

test('the first test in Python', async () => {
  await writeShared('conftest.py')
  await writeShop('shop.py')
  const text = find('# test_discounts.py')
  const runTest = (name, program) => runProgram(name, program, process.env.PYTHON ?? 'python3', '-m', 'pytest')
  assert.match(await runTest('test_discounts.py', text), /2 passed/)
  const unmet = text.replace('"operation": "add"', '"operation": "items", "always": True')
  await assert.rejects(runTest('test_unmet.py', unmet),
    ({ stdout }) => stdout.match(/fault 1 was not met: .*"items"/g).length >= 2)
  const careless = (shop) => shop.replace('"] == external_id', '"] == url')
    .replace('raise RuntimeError', 'RuntimeError')
  await writeShop('shop.py', careless)
  await assert.rejects(runTest('test_discounts.py', text), ({ stdout }) => stdout.includes('2 failed'))
})

test("the vendor's SDK", async () => {
  const [call] = page.match(/gateway\(.*?\)/)
  const { values } = store
  const text = `import { gateway } from '@elasticpath/js-sdk'
    const client_id = '${values['client id']}', client_secret = '${values['client secret']}'
    console.log((await ${call}.Subscriptions.Limit(2).All()).data.length)`
  assert.match(await runProgram('sdk.mjs', text, 'node'), /2\n$/)
})
