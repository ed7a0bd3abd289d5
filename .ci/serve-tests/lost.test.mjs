// The response of a store is lost: each client sees an error, and the store gets the request once.
//
//   EPCOMMERCE=path/of/epcommerce node --test lost.test.mjs
//   FIREFOX=/usr/bin/firefox-esr EPCOMMERCE=… node --test lost.test.mjs    in Firefox too, a Debian package

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startShop } from './browser.mjs'
import { browsers, clients, sendByProgram, sendInPage, startLosing } from './lost.mjs'

const situations = []
for (const operation of ['add', 'cart']) {
  for (const before of [undefined, 'get', 'closed']) situations.push({ way: 'fetch', operation, before })
  for (const way of ['keepalive', 'xhr']) situations.push({ way, operation, before: 'get' })
  situations.push({ way: 'fetch', operation, before: 'get', fault: { cut_after: 20 } })
}
for (const way of ['beacon', 'form']) situations.push({ way, operation: 'token', before: 'same' })

const describe = (...words) => words.filter(Boolean).join(', ')

for (const [name, start] of Object.entries(browsers)) {
  const skip = name === 'Firefox' && !process.env.FIREFOX && 'FIREFOX is not set to the path of Firefox'
  test(name, { skip }, async (t) => {
    const browser = await start()
    t.after(() => browser.close())
    const shop = await startShop()
    t.after(() => shop.stop())
    for (const protocol of ['http/1.1', 'h2']) {
      const store = await startLosing('--allow-origin', shop.origin, ...(protocol === 'h2' ? ['--tls'] : []))
      t.after(() => store.stop())
      const own = `${store.values.address}/_store/health`
      for (const [from, url] of [['the same origin', own], ['another origin', shop.origin]]) {
        const page = await browser.open(url)
        const used = () => performance.getEntriesByType('navigation')[0].nextHopProtocol
        if (url === own) assert.equal(await page.evaluate(used), protocol)
        for (const { way, operation, before, fault } of situations) {
          const part = fault && 'a part of the body'
          await t.test(describe(protocol, from, way, operation, before && `after ${before}`, part), async () => {
            const send = (request) => page.evaluate(sendInPage, { ...request, way })
            const { saw, statuses, discounts } = await store.lose(send, { operation, before, fault })
            const status = operation === 'add' ? 201 : 200
            assert.deepEqual(statuses, [fault ? status : 0], 'the store got it once')
            assert.equal(discounts, operation === 'add' ? 1 : 0)
            if (operation !== 'token') assert.match(saw, /error/i) // of fetch, or of the body
          })
        }
      }
      await t.test(describe(protocol, 'navigation to a cart, after same'), async () => {
        const page = await browser.open(own)
        const { saw, statuses } = await store.lose(async ({ address, path }) => {
          await page.goto(address + path)
          return page.goto(address + path).then(() => 'a page', (error) => error.message)
        }, { operation: 'cart', before: 'same' })
        assert.deepEqual(statuses, [0], 'the store got it once')
        assert.match(saw, /net::ERR_|neterror/)
      })
    }

    // Such a read has neither an Origin nor Sec-Fetch headers: the User-Agent shows that it is of a browser.
    await t.test('a page at http and a name, and its own origin', async () => {
      const store = await startLosing('--allow-host', 'store.example')
      t.after(() => store.stop())
      const address = store.values.address.replace('127.0.0.1', 'store.example')
      const page = await browser.open(`${address}/_store/health`)
      const send = (request) => page.evaluate(sendInPage, { ...request, address, way: 'fetch' })
      const read = await store.lose(send, { operation: 'cart', before: 'get' })
      assert.deepEqual(read.statuses, [0], 'the store got it once')
      assert.match(read.saw, /TypeError/)
      const add = await store.lose(send, { operation: 'add', before: 'get' })
      assert.deepEqual(add.statuses, [0], 'it has an Origin')
      assert.match(add.saw, /TypeError/)
    })
  })
}

test('other clients', async (t) => {
  const store = await startLosing()
  t.after(() => store.stop())
  for (const name of ['Node.js fetch', 'Node.js http, keepAlive', 'curl', 'Python urllib']) {
    for (const operation of ['add', 'cart']) {
      for (const before of name === 'Python urllib' ? [undefined] : [undefined, 'get']) { // it keeps no connection
        await t.test(describe(name, operation, before && `after ${before}`), async () => {
          const { saw, statuses } = await store.lose(sendByProgram(clients[name]), { operation, before })
          if (name === 'curl' && before) { // on a connection that it used before, it sends all again
            assert.deepEqual([saw, statuses[0], statuses.length], ['status 2xx', 0, 2])
          } else {
            assert.deepEqual(statuses, [0], 'the store got it once')
            assert.match(saw, /fetch failed|hang up|\(52\)|RemoteDisconnected/)
          }
        })
      }
    }
  }
})
