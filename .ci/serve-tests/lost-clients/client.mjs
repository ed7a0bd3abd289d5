// Sends requests by fetch or node:http, and prints what the caller sees of the last one.
//
//   node client.mjs fetch|http BEFORE TOKEN METHOD URL BODY
//
// BEFORE is the URL of a GET that comes first on the same connection, or empty.

import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [library, before, token, method, url, body] = process.argv.slice(2)
const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }

async function byFetch(url, method, body) {
  const response = await fetch(url, { method, headers, body: body || undefined })
  await response.text()
  return response.status
}

const agent = new Agent({ keepAlive: true })
const byHTTP = (url, method, body) => new Promise((resolve, reject) => {
  request(url, { method, headers, agent }, (response) => {
    response.resume()
    response.on('end', () => resolve(response.statusCode))
  }).on('error', reject).end(body)
})

const send = library === 'fetch' ? byFetch : byHTTP
try {
  if (before) {
    await send(before, 'GET')
    await sleep(20) // until the connection is free for the next request
  }
  console.log('status', await send(url, method, body))
} catch (error) {
  console.log([`${error.name}: ${error.message}`, error.cause?.message].filter(Boolean).join(': '))
}
agent.destroy()
