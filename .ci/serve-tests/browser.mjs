// Starts Debian's Chromium, and a shop of another origin.

import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'

import { chromium } from 'playwright-core'

/** Starts a browser in which shop.example is this machine, as in an attack by DNS rebinding. */
export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--no-proxy-server',
      '--host-resolver-rules=MAP *.example 127.0.0.1',
    ],
  })
}

const sdk = new URL('../vendor-clients/node_modules/@elasticpath/js-sdk/dist/index.js', import.meta.url)

/** Starts a web site whose pages have the vendor's SDK. */
export async function startShop() {
  const server = createServer(async (request, response) => {
    const isScript = request.url === '/sdk.js'
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? await readFile(sdk) : '<!doctype html><title>Shop</title><script src="/sdk.js"></script>')
  })
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  return { origin: `http://shop.example:${server.address().port}`, stop: () => server.close() }
}
