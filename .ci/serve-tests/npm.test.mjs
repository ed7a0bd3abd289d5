// The npm package refuses what it does not understand, by name.
//
//   EPCOMMERCE=path/of/epcommerce node --test npm.test.mjs

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'

import { startStore } from '../../cmd/epcommerce/npm/index.mjs'

const url = 'http://127.0.0.1:1'
for (const [options, problem] of [
  [{ port: 8080 }, 'unknown option "port"; there are url, token and args'],
  [{ url: '' }, 'url must be a text that is not empty'],
  [{ url: null }, 'url must be a text that is not empty'],
  [{ url: new URL(url) }, 'url must be a text that is not empty'],
  [{ token: '' }, 'token must be a text that is not empty'],
  [{ token: null }, 'token must be a text that is not empty'],
  [{ url, token: 7 }, 'token must be a text that is not empty'],
  [{ args: '--tls' }, 'args must be a list of flags of epcommerce serve'],
  [{ url, args: ['--tls'] }, 'args are for a store that is started, and url is one that runs'],
]) {
  test(JSON.stringify(options), () => assert.rejects(startStore(options), { message: `startStore: ${problem}` }))
}

test('options that are undefined are as absent', async () => {
  await (await startStore({ url: undefined, token: undefined, args: undefined })).stop()
})

for (const [status, answer, problem = `GET /_store/namespaces got a ${status}`] of [
  [200, '{}', 'it lists no namespaces'], [200, '', 'it lists no namespaces'], [200, 'null'], [200, '<html>'],
  [404, '{}'], [500, '{"errors":"x"}'],
]) {
  test(`a server that is no store: ${status} ${answer}`, async () => {
    const server = createServer((request, response) => response.writeHead(status).end(answer)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = `http://127.0.0.1:${server.address().port}`
    const message = `what responds at ${address} is no store: ${problem}`
    await assert.rejects(startStore({ url: address }), { message })
    server.close()
  })
}

test('a program that serves no store', () => assert.rejects(startStore({ args: ['--help'] }), {
  message: 'the store did not start: it printed no address',
}))

// JSON has neither: it would be null, and the price that of an item without one.
test('a number that JSON does not have', async () => {
  const store = await startStore()
  try {
    for (const price of [Number('x'), 1 / 0]) {
      await assert.rejects(store.cart({ items: [{ price }] }), { message: `price must be a number, and not ${price}` })
    }
  } finally {
    await store.stop()
  }
})
