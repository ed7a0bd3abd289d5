// Prints a table of what clients do when a response is lost: how often the store gets the request, and
// what the caller sees. Clients that are not installed are left out, and Firefox without its path.
//
//   EPCOMMERCE=path/of/epcommerce FIREFOX=/usr/bin/firefox-esr PYTHON=/usr/bin/python3 node lost-table.mjs
//
// Debian packages: firefox-esr, python3-requests, python3-httpx, python3-urllib3.

import { startShop } from './browser.mjs'
import { browsers, clients, sendByProgram, sendInPage, startLosing } from './lost.mjs'

const useHTTP2 = ['curl', 'Go net/http']
const keepNoConnection = ['Python urllib']

const shop = await startShop()
const store = await startLosing('--allow-origin', shop.origin)
const secure = await startLosing('--allow-origin', shop.origin, '--tls')

/** Loses a response, and returns how often the store got the request, and what the caller saw. */
async function lose(at, send, operation, before) {
  const { saw, statuses } = await at.lose(send, { operation, before })
  const times = ['never', 'once', 'twice'][statuses.length] ?? `${statuses.length} times`
  return { saw, cell: saw.startsWith('status') ? `${times}, no error` : times }
}

/** Prints the row of a client. newConnection is what it does before, to have one. */
async function printRow(name, { send, sendSecure, newConnection, keepsConnection }) {
  const post = await lose(store, send, 'add', newConnection)
  if (post.cell.startsWith('never')) return // it is not installed
  const cells = [
    post.cell,
    keepsConnection ? (await lose(store, send, 'add', 'get')).cell : '',
    (await lose(store, send, 'cart', newConnection)).cell,
    keepsConnection ? (await lose(store, send, 'cart', 'get')).cell : '',
    sendSecure ? (await lose(secure, sendSecure, 'add', 'get')).cell : '',
    post.saw.replace(/"http[^"]*"/, '…'),
  ]
  console.log(`| ${name} | ${cells.join(' | ')} |`)
}

console.log('| client | POST, new connection | POST, kept | GET, new | GET, kept | POST, HTTP/2 | error |')
console.log('|---|---|---|---|---|---|---|')
for (const [name, start] of Object.entries(browsers)) {
  if (name === 'Firefox' && !process.env.FIREFOX) continue
  const browser = await start()
  const page = await browser.open(shop.origin)
  const send = (request) => page.evaluate(sendInPage, { ...request, way: 'fetch' })
  const title = `${name} ${parseInt(browser.version())}`
  await printRow(title, { send, sendSecure: send, newConnection: 'closed', keepsConnection: true })
  await browser.close()
}
for (const [name, command] of Object.entries(clients)) {
  const sendSecure = useHTTP2.includes(name) && sendByProgram(command, secure.values.certificate)
  await printRow(name, { send: sendByProgram(command), sendSecure, keepsConnection: !keepNoConnection.includes(name) })
}
await store.stop()
await secure.stop()
shop.stop()
