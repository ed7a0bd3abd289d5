// Loses responses of a store, and finds what the caller sees and how often the store gets the request.

import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { newControl, startStore } from '../vendor-clients/store.mjs'
import { startBrowser } from './browser.mjs'
import { startFirefox } from './firefox.mjs'

const discount = {
  type: 'custom_discount', amount: -1000, description: 'd', discount_code: 'c', discount_engine: 'shop',
  external_id: 'ten-off',
}
const requests = {
  add: (cart) => ['POST', `/v2/carts/${cart}/custom-discounts`, JSON.stringify({ data: [discount] })],
  cart: (cart) => ['GET', `/v2/carts/${cart}`, ''],
  token: (_, values) => ['POST', '/oauth/access_token', new URLSearchParams({
    grant_type: 'client_credentials', client_id: values['client id'], client_secret: values['client secret'],
  }).toString()],
}

/** Starts a store that loses responses. */
export async function startLosing(...args) {
  if (args.includes('--tls')) process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0' // for the requests of control
  const store = await startStore(process.env.EPCOMMERCE, ...args)
  const { address, token } = store.values
  const control = newControl(address, token)

  /**
   * Loses the response to the request of an operation, and returns what send saw of it, the statuses
   * of this request each time that the store got it, 0 for the lost one, and how often the discount
   * is on the cart.
   *
   * before is what send does first: 'get' another request, or the 'same' one, or the same one to
   * which the store replies with a 503 before it closes the connection: 'closed'.
   */
  async function lose(send, { operation, before, fault }) {
    const { id } = await control('POST', 'carts')
    await control('DELETE', 'faults')
    await control('DELETE', 'requests')
    const close = { operation, status: 503, header: { Connection: ['close'] } }
    if (before === 'closed') await control('POST', 'faults', close)
    const lost = { operation, apply: true, cut: true, after: before === 'same' ? 1 : 0, ...fault }
    await control('POST', 'faults', lost)

    const [method, path, body] = requests[operation](id, store.values)
    const saw = await send({ address, token, method, path, body, before })
    if (!saw) { // it does not see the end
      const isDue = async () => (await control('GET', 'faults')).faults.some((f) => f.left > 0)
      for (let i = 0; i < 100 && await isDue(); i++) await sleep(20)
      await sleep(100) // in which it may come again
    }
    const list = await control('GET', `requests?operation=${operation}`)
    const { carts } = await control('GET', 'carts')
    return {
      saw,
      statuses: list.requests.slice(before === 'same' || before === 'closed' ? 1 : 0).map((r) => r.status),
      discounts: carts.find((cart) => cart.id === id).discounts.length,
    }
  }
  return { ...store, lose }
}

/** Browsers by name. open opens a page. */
export const browsers = {
  async Chromium() {
    const browser = await startBrowser()
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    const open = async (url) => {
      const page = await context.newPage()
      await page.goto(url)
      return page
    }
    return { version: () => browser.version(), open, close: () => browser.close() }
  },
  Firefox: () => startFirefox(process.env.FIREFOX),
}

/** Sends requests by fetch or another way, and returns what the page sees of the last. It runs in the page. */
export async function sendInPage({ address, token, method, path, body, before, way }) {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const someTime = () => new Promise((resolve) => { setTimeout(resolve, 100) }) // a page does not see the end
  const byFetch = async (url, options) => {
    const response = await fetch(url, { headers, ...options })
    const text = await response.text().then(() => '', (error) => `, then ${error}`)
    return `status ${response.status}${text}`
  }
  const ways = {
    fetch: (url) => byFetch(url, { method, body: body || undefined }),
    keepalive: (url) => byFetch(url, { method, body: body || undefined, keepalive: true }),
    xhr: (url) => new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.onload = () => resolve(`status ${request.status}`)
      request.onerror = () => reject('the event error')
      request.open(method, url)
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
      request.send(body)
    }),
    beacon: (url) => {
      navigator.sendBeacon(url, new URLSearchParams(body))
      return someTime()
    },
    form: (url) => { // in a frame, so that the page stays
      const frame = Object.assign(document.createElement('iframe'), { name: Math.random() })
      const form = Object.assign(document.createElement('form'), { method, action: url, target: frame.name })
      for (const [name, value] of new URLSearchParams(body)) {
        form.append(Object.assign(document.createElement('input'), { name, value }))
      }
      document.documentElement.append(frame, form)
      form.submit()
      return someTime()
    },
  }
  if (before === 'get') await byFetch(`${address}/v2/settings`)
  if (before === 'same' || before === 'closed') await ways[way](address + path)
  return ways[way](address + path).catch(String)
}

const file = (name) => fileURLToPath(new URL(`lost-clients/${name}`, import.meta.url))
const python = (library) => [process.env.PYTHON ?? 'python3', file('client.py'), library]

/** Commands of other clients by name. Their arguments are what sendByProgram adds. */
export const clients = {
  'Node.js fetch': ['node', file('client.mjs'), 'fetch'],
  'Node.js http, keepAlive': ['node', file('client.mjs'), 'http'],
  curl: ['sh', file('client.sh')],
  'Python urllib': python('urllib.request'),
  'Python requests': python('requests'),
  'Python httpx': python('httpx'),
  'Python urllib3': python('urllib3'),
  'Go net/http': ['go', 'run', file('main.go')],
}

/** Sends requests by a client, and returns what it printed of the last. */
export function sendByProgram([command, ...args], certificate = '') {
  return ({ address, token, method, path, body, before }) => new Promise((resolve) => {
    const first = before === 'get' ? `${address}/v2/settings` : ''
    const env = { ...process.env, ...(certificate && { SSL_CERT_FILE: certificate, CURL_CA_BUNDLE: certificate }) }
    execFile(command, [...args, first, token, method, address + path, body], { env }, (_, stdout, stderr) => {
      resolve(stdout.trim() || stderr.trim().split('\n').at(-1))
    })
  })
}
