// Walks all subscriptions by @elasticpath/js-sdk, for bench, and prints the figures of measure.go.
//
//   node walk.mjs INCLUDE ADDRESS COUNT
//
// INCLUDE names the included resources, and may be empty. COUNT is the number of subscriptions.

import { readFileSync } from 'node:fs'

import { gateway, MemoryStorageFactory } from '@elasticpath/js-sdk'

const [include, address, count] = process.argv.slice(2)
const pageSize = 100
const { host, protocol } = new URL(address)
const config = { client_id: 'bench', host, protocol: protocol.replace(':', ''), storage: new MemoryStorageFactory() }
// As the other clients have a token, the SDK need not get one.
config.storage.set('epCredentials', JSON.stringify({
  client_id: config.client_id, access_token: 'bench-token', expires: Date.now(),
}))
const { Subscriptions } = gateway(config)

async function walk() {
  let n = 0
  for (let offset = 0; ; offset += pageSize) {
    const page = await Subscriptions.With(include).Limit(pageSize).Offset(offset).All()
    for (const name of include ? include.split(',') : []) {
      if (!page.included[name].length) throw new Error(`${name} are missing`)
    }
    n += page.data.filter((subscription) => subscription.attributes.currency).length
    if (page.data.length < pageSize) return n
  }
}

await Subscriptions.Limit(1).All() // loads the modules of Node.js for HTTP
const cpuBefore = process.cpuUsage()
const start = performance.now()
const n = await walk()
const wall = performance.now() - start
const { user, system } = process.cpuUsage(cpuBefore) // in microseconds
if (n !== Number(count)) throw new Error(`${n} subscriptions, want ${count}`)
// Unlike process.resourceUsage() it does not count the memory of the parent.
const peak = readFileSync('/proc/self/status', 'utf8').match(/VmHWM:\s+(\d+) kB/)[1] / 1024
const none = 0 // Node.js does not count allocations
console.log(JSON.stringify([(user + system) / 1000, wall, none, none, peak]))
