// Drives the page of epcommerce serve in Chromium, and a shop of another origin.
//
//   EPCOMMERCE=path/of/epcommerce node --test
//
// SCREENSHOTS is a folder for pictures of the page.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { startStore } from '../vendor-clients/store.mjs'
import { startBrowser, startShop } from './browser.mjs'

let browser
before(async () => { browser = await startBrowser() })
after(() => browser.close())

/** Starts a store, and opens its page. Fails if the browser reports an error in the end. */
async function open(t, args = [], options = {}) {
  const store = await startStore(process.env.EPCOMMERCE, ...args)
  const page = await browser.newPage({ viewport: { width: 1280, height: 820 }, ...options })
  const problems = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.location().url.includes('/v2/')) problems.push(message.text())
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(store.values.address) && !url.startsWith('data:')) problems.push(url)
  })
  t.after(async () => {
    await page.close()
    await store.stop()
    assert.deepEqual(problems, [], 'errors, and requests to other hosts')
  })
  await page.goto(store.values.page)
  const send = (method, path, token = store.values.token, body = undefined) => fetch(store.values.address + path, {
    method, body: body && JSON.stringify(body),
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
  })
  await send('GET', '/v2/settings/cart')
  await page.locator('#requests li').first().waitFor() // it follows the events
  return { store, page, send }
}

test('a request comes, meets a fault that was added by click, and goes with a reset', async (t) => {
  const { page, send } = await open(t)
  assert.match(await page.locator('#requests li').first().innerText(), /200\s+GET\s+get cart settings/)

  await page.locator('[name=operation]').selectOption('settings')
  await page.locator('[name=status]').fill('429')
  await page.getByRole('button', { name: 'Add the fault' }).click()
  await page.locator('#faults tr', { hasText: 'settings' }).waitFor()
  assert.equal((await send('GET', '/v2/settings')).status, 429)
  await page.locator('#faults tr', { hasText: /settings\s*429\s*1\s*0/ }).waitFor()
  assert.match(await page.locator('#requests li').first().innerText(), /429.*⚡/)
  assert.match(await page.locator('#fault').innerText(), /number 1[^]*"status": 429/)

  await page.getByRole('button', { name: 'Reset the store' }).click()
  await page.locator('#requests li').first().waitFor({ state: 'detached' })
  await page.locator('#faults tr').first().waitFor({ state: 'detached' })
  assert.match(await page.locator('#subscriptions').innerText(), /order-000100/)
})

for (const colorScheme of ['light', 'dark']) {
  test(`the discount of a client that retries is doubled, ${colorScheme}`, async (t) => {
    const { page } = await open(t, [], { colorScheme })
    await page.getByRole('button', { name: 'Lose the next response' }).click()
    await page.getByRole('button', { name: 'Add a discount, and retry' }).click()
    await page.getByText('has the discount 2 times').waitFor()
    await page.locator('#requests li', { hasText: 'lost' }).waitFor()
    assert.equal(await page.locator('#before li').count(), 1)
    assert.equal(await page.locator('#after li.twice').count(), 2)
    await page.locator('#carts .twice').first().waitFor()
    const [text, back] = await page.evaluate(() => {
      const { color, backgroundColor } = getComputedStyle(document.body)
      return [color, backgroundColor]
    })
    const sum = (color) => color.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0)
    assert.equal(sum(back) > sum(text), colorScheme === 'light')
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/serve-${colorScheme}.png` })
  })
}

test('the keyboard is enough', async (t) => {
  const { page, send } = await open(t)
  for (let i = 0; i < 3; i++) await send('GET', '/v2/settings')
  await page.locator('#requests li').nth(3).waitFor()
  await page.locator('#namespace').focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('its response is lost').waitFor()
  await page.locator('#requests button').first().focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  assert.equal(await page.locator('#requests [aria-current]').count(), 1)
  assert.equal(await page.locator('#requests li').nth(2).locator('[aria-current]').count(), 1)
  await page.keyboard.press('ArrowUp')
  assert.equal(await page.locator('#requests li').nth(1).locator('[aria-current]').count(), 1)
})

test('each namespace has its own requests and faults', async (t) => {
  const { page, send } = await open(t, ['--token', 'one', '--token', 'two'])
  await page.getByLabel('Namespace').selectOption('two')
  await page.locator('#requests li').first().waitFor({ state: 'detached' })
  await send('GET', '/v2/settings', 'two')
  await page.locator('#requests li', { hasText: 'settings' }).waitFor()
  await send('GET', '/v2/settings', 'one')
  await page.getByRole('button', { name: 'Add a discount, and retry' }).click()
  await page.getByText('has the discount once').waitFor()
  assert.equal(await page.locator('#requests li').count(), 2)
  await send('POST', '/_store/namespaces', 'two')
  await page.locator('#namespace option', { hasText: 'namespace-1' }).waitFor({ state: 'attached' })
  assert.equal(await page.getByLabel('Namespace').inputValue(), 'two')
})

test('where others reach it, the browser asks for the token', async (t) => {
  const args = ['--addr', '0.0.0.0:0', '--allow-host', '127.0.0.1', '--page', '--token', 'secret']
  const { page, send } = await open(t, args, { httpCredentials: { username: '', password: 'secret' } })
  await send('GET', '/v2/settings')
  await page.locator('#requests li', { hasText: '/v2/settings' }).nth(1).waitFor()
  await page.getByRole('button', { name: 'Add a discount, and retry' }).click()
  await page.getByText('has the discount once').waitFor()
})

test('what programs send is text', async (t) => {
  const { store, page, send } = await open(t)
  const bad = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
  const response = await send('POST', `/v2/carts/${store.values.cart}/custom-discounts`, undefined, {
    data: [{
      type: 'custom_discount', amount: -1, description: bad, discount_code: bad, discount_engine: bad, external_id: bad,
    }],
  })
  assert.equal(response.status, 201)
  await send('GET', `/${encodeURIComponent(bad)}`)
  await page.locator('#carts', { hasText: '<img' }).waitFor()
  await page.locator('#requests li').nth(2).waitFor()
  assert.equal(await page.locator('img, #requests script, #carts script').count(), 0)
  assert.equal(await page.title(), 'epcommerce serve')
})

/** What a page of the shop does with the vendor's SDK. */
async function shopWithSDK({ host, clientID, clientSecret, cart }) {
  const client = globalThis.index.gateway({
    host, protocol: 'http', client_id: clientID, client_secret: clientSecret,
    storage: new globalThis.index.MemoryStorageFactory(),
  })
  const { data } = await client.Subscriptions.Limit(2).All()
  const discount = {
    type: 'custom_discount', amount: -1000, description: 'd', discount_code: 'c',
    discount_engine: 'shop', external_id: 'ten-off',
  }
  const added = await client.Cart(cart).BulkAddCartCustomDiscount([discount], { add_all_or_nothing: true })
  return [data.length, added.data[0].external_id]
}

for (const allowed of [true, false]) {
  test(`the vendor's SDK in a page of a shop, ${allowed ? 'allowed' : 'not allowed'}`, async (t) => {
    const shop = await startShop()
    t.after(() => shop.stop())
    const store = await startStore(process.env.EPCOMMERCE, ...(allowed ? ['--allow-origin', shop.origin] : []))
    t.after(() => store.stop())
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(shop.origin)
    const { address, cart } = store.values
    const used = page.evaluate(shopWithSDK, {
      host: new URL(address).host, cart,
      clientID: store.values['client id'], clientSecret: store.values['client secret'],
    })
    if (allowed) assert.deepEqual(await used, [2, 'ten-off'])
    else await assert.rejects(used, /Failed to fetch/)

    // It never drives the store, however it asks.
    const drive = (path, options) => page.evaluate(
      ([url, o]) => fetch(url, o).then((r) => r.status, () => 'refused'), [address + path, options],
    )
    assert.equal(await drive('/_store/requests'), 'refused')
    assert.equal(await drive('/_store/reset', { method: 'POST', mode: 'no-cors' }), 0) // it cannot see the status
    const requests = async () => { // but not of the browser's own, for an icon
      const list = (await (await fetch(`${address}/_store/requests`)).json()).requests
      return list.filter(({ operation }) => operation)
    }
    const before = (await requests()).length
    assert.equal(before > 0, allowed, 'the reset was refused, as was all else if the shop is not allowed')
    await page.setContent(`<form method="post" action="${address}/_store/reset"></form>`)
    const [response] = await Promise.all([page.waitForNavigation(), page.evaluate(() => document.forms[0].submit())])
    assert.equal(response.status(), 403)
    assert.equal((await requests()).length, before)
    await page.goto(shop.origin)
    const [framed] = await Promise.all([
      page.waitForResponse(`${address}/`),
      page.evaluate((src) => {
        document.body.append(Object.assign(document.createElement('iframe'), { src }))
      }, `${address}/`),
    ])
    assert.equal(framed.status(), 403)

    const rebound = await page.goto(`http://shop.example:${new URL(address).port}/`)
    assert.equal(rebound.status(), 403)
  })
}
