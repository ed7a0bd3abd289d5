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

/** Runs a program of the page, and returns what it prints. lines is how many lines it has. */
async function runProgram(name, text, command, ...args) {
  await writeFile(path.join(folder, name), text.replaceAll('127.0.0.1:8080', new URL(store.values.address).host))
  const { NODE_TEST_CONTEXT, ...env } = process.env // it is not a test of this one
  const { stdout, stderr } = await run(command, [...args, name], { cwd: folder, env })
  return stdout + stderr
}

const find = (word) => programs.find(({ text }) => text.includes(word)).text

test('the first test in JavaScript', async () => {
  const text = find('node:test')
  assert.match(await runProgram('discounts.test.mjs', text, 'node', '--test'), /# pass 2\n# fail 0/)
  // A client that does not look first, and a fault that nobody meets, make it fail.
  const blind = text.replace('(d) => d.external_id', '(d) => cart + d.external_id')
  const careless = blind.replace('throw new', 'return new')
  await assert.rejects(runProgram('careless.test.mjs', careless, 'node', '--test'),
    ({ stdout }) => stdout.includes('# fail 2'))
  const unmet = text.replace("operation: 'add'", "operation: 'items'")
  await assert.rejects(runProgram('unmet.test.mjs', unmet, 'node', '--test'),
    ({ stdout }) => stdout.includes("operation: 'items'"))
})

test('the first test in Python', async () => {
  const text = find('unittest')
  assert.match(await runProgram('test_discounts.py', text, 'python3', '-m', 'unittest'), /Ran 1 test.*\n\nOK/)
  const careless = text.replace('d["external_id"] == ', 'cart == ').replace('raise RuntimeError', 'RuntimeError')
  await assert.rejects(runProgram('test_careless.py', careless, 'python3', '-m', 'unittest'), /AssertionError: 3 != 1/)
  const unmet = text.replace('"operation": "add"', '"operation": "items"')
  await assert.rejects(runProgram('test_unmet.py', unmet, 'python3', '-m', 'unittest'), /AssertionError/)
})

test("the vendor's SDK", async () => {
  const text = `${find('js-sdk')}\nconsole.log(data.length)`
  assert.match(await runProgram('sdk.mjs', text, 'node'), /2\n$/)
})
