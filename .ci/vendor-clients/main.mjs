// Drives epcommerce serve with both clients, and writes the table, or compares it with
// the page.
//
//   node main.mjs EPCOMMERCE PAGE check|update
//   STORE=https://… STORE_TOKEN=… node main.mjs '' PAGE running
//
// The last one checks with a namespace of a store that runs already.

import { readFile, writeFile } from 'node:fs/promises'

import * as jsSDK from './js-sdk.mjs'
import { newRecorder } from './recorder.mjs'
import * as shopper from './shopper.mjs'
import { resetStore, startStore } from './store.mjs'
import { Calls, tableRows } from './table.mjs'

const [program, page, mode] = process.argv.slice(2)
const failures = []
const rows = []
for (const client of [jsSDK, shopper]) {
  const table = tableRows(client.name, await run(client, 'first'), await run(client, 'second'), failures)
  // The credentials follow from the name of the namespace, which is its token.
  rows.push(...table.map((row) => row.replaceAll(`=${process.env.STORE_TOKEN}-`, '=commercetest-')))
}
if (failures.length === 0) await comparePage()
console.log(`${rows.length} calls in each generation, ${failures.length} failures`)
if (failures.length > 0) {
  console.error(failures.join('\n'))
  process.exitCode = 1
}

/** Runs the calls of a client against a store of its own, and returns their rows. */
async function run(client, generation) {
  const isRunning = mode === 'running'
  const store = await (isRunning ? resetStore(generation) : startStore(program, '--generation', generation))
  const { requests, fetch } = newRecorder()
  const calls = new Calls(client.name, generation, requests)
  try {
    await client.drive(calls, store.values, fetch)
  } catch (thrown) {
    failures.push(`${client.name}, ${generation} generation: ${thrown.stack ?? JSON.stringify(thrown)}`)
  }
  // The cart that was there at first, and the deleted one: reading it creates an empty one.
  calls.check('what is left in the store', await store.stop(), 'stopped with 2 carts and 100 subscriptions')
  const rows = calls.namedRows()
  failures.push(...calls.failures)
  return rows
}

/** Compares the table of the page with this run's, or writes it. The table is last on the page. */
async function comparePage() {
  const text = await readFile(page, 'utf8')
  const header = text.match(/^\| client .*\n\|[-|]+\n/m)
  if (!header) throw new Error(`${page} has no table`)
  const want = text.slice(0, header.index) + header[0] + rows.map((row) => `${row}\n`).join('')
  if (mode === 'update') {
    await writeFile(page, want)
  } else if (text !== want) {
    const old = new Set(text.split('\n'))
    const changed = rows.filter((row) => !old.has(row))
    failures.push(`${page} differs from this run; run make vendor-clients.\n${changed.join('\n')}`)
  }
}
