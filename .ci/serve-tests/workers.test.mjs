// Eight test files side by side: none meets the faults of another one, sees its carts or its requests.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { startStore } from '../vendor-clients/store.mjs'

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))

function runWorker(store, number) {
  const { NODE_TEST_CONTEXT, ...env } = process.env // it is not a test of this one
  const child = spawn(process.execPath, ['--test', worker], {
    env: { ...env, STORE: store.values.address, WORKER: String(number) },
  })
  let output = ''
  child.stdout.on('data', (text) => { output += text })
  return new Promise((resolve) => { child.on('close', () => resolve(output)) })
}

test('eight workers', async (t) => {
  const store = await startStore(process.env.EPCOMMERCE)
  t.after(() => store.stop())
  const outputs = await Promise.all(Array.from({ length: 8 }, (_, i) => runWorker(store, i)))
  for (const output of outputs) assert.match(output.split('\n').slice(-40).join('\n'), /# pass 20\n# fail 0/)
})
