// Starts epcommerce serve, and stops it, or uses one that runs.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * Starts the program with arguments. values holds what it prints, by name: address, client id and
 * so on. stop ends it, and returns the line of standard error that counts what the store holds.
 */
export async function startStore(program, ...args) {
  const child = spawn(program, ['serve', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (text) => { stderr += text })
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  process.on('exit', () => child.kill('SIGKILL'))

  const values = {}
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = line.match(/^([a-z ]+): (.+)$/) ?? []
    if (name) values[name] = value
    if (line === '') break // examples for curl follow
  }
  child.stdout.resume()
  if (!values.address) throw new Error(`epcommerce serve printed no address; exit code ${await ended}: ${stderr}`)

  return {
    values,
    async stop() {
      child.kill('SIGTERM')
      const code = await ended
      if (code !== 0) throw new Error(`epcommerce serve ended with code ${code}: ${stderr}`)
      return stderr.match(/^stopped with .*$/m)?.[0]
    },
  }
}

/**
 * Returns a function that sends a request to what drives the namespace of a token, and returns the
 * JSON of the response.
 */
export function newControl(address, token) {
  return async (method, path, body) => {
    const response = await fetch(`${address}/_store/${path}`, {
      method, headers: { Authorization: `Bearer ${token}` }, body: body && JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text && JSON.parse(text)
  }
}

/**
 * Brings a namespace of a running store, named by STORE and STORE_TOKEN, to a generation. stop returns
 * what it holds, in the same words.
 */
export async function resetStore(generation) {
  const { STORE: address, STORE_TOKEN: token } = process.env
  const control = newControl(address, token)
  await control('POST', 'reset', { generation })
  const { namespaces } = await control('GET', 'namespaces')
  const mine = namespaces.find((namespace) => namespace.token === token)
  const values = { address }
  for (const [name, value] of Object.entries(mine)) values[name.replaceAll('_', ' ')] = value
  return {
    values,
    async stop() {
      const { carts } = await control('GET', 'carts')
      const { subscriptions } = await control('GET', 'subscriptions')
      return `stopped with ${carts.length} carts and ${subscriptions.length} subscriptions`
    },
  }
}
