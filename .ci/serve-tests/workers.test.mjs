// Eight workers at the same time in node:test, vitest and pytest: each test has a namespace of its own, and none meets
// the faults of another one, or sees its carts or its requests.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { startStore } from '../vendor-clients/store.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const worker = new URL('worker.mjs', import.meta.url)

/** Runs a command with a store, and returns the end of what it prints. */
async function run(t, command, ...args) {
  const store = await startStore(process.env.EPCOMMERCE, '--token', 'first')
  t.after(() => store.stop())
  const { NODE_TEST_CONTEXT, ...env } = process.env // the workers are not tests of this one
  const options = { cwd: here, env: { ...env, STORE: store.values.address, WORKERS: '8', NO_COLOR: '1' } }
  return new Promise((resolve) => {
    execFile(command, args, options, (error, stdout, stderr) => resolve((stderr + stdout).slice(-4000)))
  })
}

/** Makes a test file for each worker, and returns the paths. */
async function makeFiles(t) {
  const folder = await mkdtemp(path.join(tmpdir(), 'commerce-workers-'))
  t.after(() => rm(folder, { recursive: true }))
  const files = Array.from({ length: 8 }, (_, i) => path.join(folder, `${i}.test.mjs`))
  await Promise.all(files.map((file) => writeFile(file, `import ${JSON.stringify(worker)}\n`)))
  return files
}

test('eight workers of node:test', async (t) => {
  const files = await makeFiles(t)
  const text = await run(t, process.execPath, '--test', '--test-reporter=tap', '--test-concurrency=8', ...files)
  assert.match(text, /# pass 40\n# fail 0/)
})

test('eight workers of vitest', async (t) => {
  const [file] = await makeFiles(t)
  const args = ['run', '--maxWorkers=8', '--pool=threads', '--dir', path.dirname(file)]
  const text = await run(t, path.join(here, 'node_modules/.bin/vitest'), ...args)
  assert.match(text, /Test Files +8 passed \(8\)\n *Tests +40 passed \(40\)/)
})

test('eight workers of pytest', async (t) => {
  const args = ['-m', 'pytest', '-p', 'no:cacheprovider', '-n', '8', 'test_worker.py']
  assert.match(await run(t, process.env.PYTHON ?? 'python3', ...args), /\n=+ 40 passed/)
})
