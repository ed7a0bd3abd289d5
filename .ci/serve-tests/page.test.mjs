// Drives the page of epcommerce serve in Chromium, and a shop of another origin.
//
//   EPCOMMERCE=path/of/epcommerce node --test
//
// SCREENSHOTS is a folder for pictures of the page.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'

import { startStore } from '../vendor-clients/store.mjs'
import { startBrowser, startShop } from './browser.mjs'

process.setMaxListeners(50) // each store waits for the end
let browser
before(async () => { browser = await startBrowser() })
after(() => browser.close())

/** Starts a store, and opens its page. Fails if the browser reports an error in the end, but for refused URLs. */
async function open(t, args = [], { refused = '/v2/', before: prepare = () => {}, ...options } = {}) {
  const store = await startStore(process.env.EPCOMMERCE, ...args)
  const page = await browser.newPage({ viewport: { width: 1280, height: 820 }, ...options })
  const problems = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.location().url.match(refused)) problems.push(message.text())
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
  const send = async (method, path, body = undefined, token = store.values.token) => {
    const response = await fetch(store.values.address + path, {
      method, body: body && JSON.stringify(body),
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    })
    const isJSON = response.headers.get('Content-Type')?.includes('json')
    return { status: response.status, body: await (isJSON ? response.json() : response.text()) }
  }
  await prepare({ store, page, send })
  await page.goto(store.values.page)
  await send('GET', '/v2/settings/cart')
  const rows = page.locator('#requests li')
  await rows.first().waitFor() // it follows the events
  return { store, page, send, rows }
}

/** Returns the body of a request that adds a discount. */
const discount = (externalID, code = 'TEN-OFF') => ({
  data: [{
    type: 'custom_discount', amount: -1000, description: 'd', discount_code: code, discount_engine: 'e',
    external_id: externalID,
  }],
})

async function confirmReset(page) {
  await page.getByRole('button', { name: 'Reset the store' }).click()
  await page.getByRole('dialog', { name: 'Reset the store?' }).getByRole('button', { name: 'Reset' }).click()
}

test('a request comes, meets a fault that was added by click, and goes with a reset', async (t) => {
  const { page, send, rows } = await open(t)
  assert.match(await rows.first().innerText(), /200\s+GET get cart settings\s+\d+ ms\s+\d\d:\d\d:\d\d/)

  await page.locator('[name=operation]').selectOption('settings')
  await page.locator('#add-fault [name=status]').fill('429')
  await page.getByRole('button', { name: 'Add the fault' }).click()
  await page.locator('#faults tr', { hasText: 'settings' }).waitFor()
  assert.equal((await send('GET', '/v2/settings')).status, 429)
  await page.locator('#faults tr', { hasText: /settings\s*status 429\s*1\s*0/ }).waitFor()
  assert.match(await rows.first().innerText(), /429 ⚡/)
  assert.match(await page.locator('#fault').innerText(), /number 1[^]*"status": 429/)
  assert.equal(await page.locator('#message').innerText(), 'The fault was added.', 'it must stay true')

  await page.getByRole('button', { name: 'Reset the store' }).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await rows.count(), 2)
  await confirmReset(page)
  await rows.first().waitFor({ state: 'detached' })
  await page.locator('#faults tr').first().waitFor({ state: 'detached' })
  await page.getByText('No request yet. Send one: curl').waitFor()
  assert.match(await page.locator('#subscriptions').innerText(), /order-000100/)
})

for (const colorScheme of ['light', 'dark']) {
  test(`the discount of a client that retries is doubled, ${colorScheme}`, async (t) => {
    const { page, rows } = await open(t, [], { colorScheme })
    const sent = []
    page.on('request', (request) => { if (request.url().includes('/v2/')) sent.push(request.method()) })
    await page.getByRole('button', { name: 'Lose the next response' }).click()
    await page.getByText('its response is lost').waitFor()
    await page.getByRole('button', { name: 'Add a discount, and retry' }).click()
    await page.getByText('has the discount 2 times').waitFor()
    assert.deepEqual(sent, ['POST', 'POST'], 'the page sends the second request, not the browser')
    await rows.filter({ hasText: 'lost' }).waitFor()
    assert.equal(await rows.count(), 3)
    assert.deepEqual(await rows.locator('.outcome').allInnerTexts(), ['201', 'lost ⚡', '200'])
    assert.equal(await page.locator('#before li', { hasText: 'TEN-OFF' }).count(), 1)
    assert.equal(await page.locator('#after li.twice').count(), 2)
    assert.deepEqual(await page.locator('#before li').allInnerTexts(), [
      '1 × Product $100.00', '1 × Custom item $100.00', 'TEN-OFF -$10.00 (page ten-off-1)', 'Total $190.00',
    ])
    assert.match(await page.locator('#after').innerText(), /, twice\nTotal \$180.00/)
    await page.locator('#carts .twice').first().waitFor()
    await page.locator('#faults tr', { hasText: /no response\s*1\s*0/ }).waitFor()
    const [text, back] = await page.evaluate(() => {
      const { color, backgroundColor } = getComputedStyle(document.body)
      return [color, backgroundColor]
    })
    const sum = (color) => color.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0)
    assert.equal(sum(back) > sum(text), colorScheme === 'light')
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/serve-${colorScheme}.png` })
  })
}

test('what a program needs can be copied, and the first command works', async (t) => {
  const { store, page, rows } = await open(t)
  const { values } = store
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByText('Connect a program').click()
  for (const [name, value] of [
    ['the address', values.address], ['the token', values.token], ['the client id', values['client id']],
    ['the client secret', values['client secret']], ['the id of the cart', values.cart],
    ['the command that reads the cart', undefined],
  ]) {
    const button = page.getByRole('button', { name: `Copy ${name}`, exact: true })
    await button.click()
    await page.locator('#message', { hasText: `Copied: ${name}.` }).waitFor()
    assert.equal(await button.innerText(), 'Copied')
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    if (value) assert.equal(copied, value)
    else assert.match((await promisify(execFile)('sh', ['-c', copied])).stdout, new RegExp(`"id":"${values.cart}"`))
  }
  await rows.filter({ hasText: `GET cart ${values.cart.slice(0, 8)}` }).waitFor()
  await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')) })
  await page.getByRole('button', { name: 'Copy the token' }).click()
  await page.getByText('Press Ctrl+C to copy the token').waitFor()
  assert.equal(await page.evaluate(() => String(getSelection())), values.token)
})

test('the keyboard is enough', async (t) => {
  const { page, send, rows } = await open(t)
  for (let i = 0; i < 39; i++) await send('GET', '/v2/settings')
  await rows.nth(39).waitFor()
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key) }
  const isFocused = (locator) => locator.evaluate((element) => element === document.activeElement)
  await page.locator('#namespace').focus()
  await press('Tab', 'Enter')
  await page.getByText('its response is lost').waitFor()

  await page.locator('#newest').focus()
  await press('Tab')
  const at = async (i) => {
    assert.ok(await isFocused(rows.nth(i)), `row ${i} has the focus`)
    const row = page.locator('#requests [aria-selected=true]')
    await page.waitForFunction((n) => document.querySelectorAll('#requests li')[n].ariaSelected === 'true', i)
    assert.equal(await row.count(), 1)
    assert.equal(await page.locator('#requests [tabindex="0"]').count(), 1, 'one tab stop')
    assert.ok((await page.locator('#facts').innerText()).startsWith(`commercetest-${String(40 - i).padStart(6, '0')} `))
  }
  await at(0)
  await press('ArrowDown', 'ArrowDown')
  await at(2)
  await press('ArrowUp')
  await at(1)
  await press('End')
  await at(39)
  await press('PageUp')
  const index = () => rows.evaluateAll((all) => all.indexOf(document.activeElement))
  const up = await index()
  assert.ok(up < 37 && up > 10, `a page is ${39 - up} rows`)
  await press('PageDown')
  await at(39)
  await press('Home')
  await at(0)
  await press('ArrowUp')
  await at(0)
  await send('GET', '/v2/settings')
  await rows.nth(40).waitFor()
  assert.ok(await isFocused(rows.nth(1)), 'a new row leaves the focus where it is')
  await press('Tab')
  assert.equal(await index(), -1)

  await page.getByRole('button', { name: 'Reset the store' }).focus()
  await press('Enter')
  assert.ok(await isFocused(page.getByRole('button', { name: 'Cancel' })))
  await press('Escape')
  assert.ok(await isFocused(page.getByRole('button', { name: 'Reset the store' })))
  assert.equal(await rows.count(), 41)
  await press('Enter', 'Tab', 'Enter')
  await page.getByText('No request yet').waitFor()
  await send('GET', '/v2/settings')
  await rows.first().waitFor()
  await press('Enter', 'Enter') // the button has the focus again, and then Cancel
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await send('GET', '/v2/settings')
  await rows.nth(1).waitFor()
})

test('each namespace has its own requests and faults', async (t) => {
  const { page, send, rows } = await open(t, ['--token', 'one', '--token', 'two'])
  await page.getByLabel('Namespace').selectOption('two')
  await rows.first().waitFor({ state: 'detached' })
  assert.equal(await page.locator('code.token').textContent(), 'two')
  await send('GET', '/v2/settings', undefined, 'two')
  await rows.filter({ hasText: 'settings' }).waitFor()
  await send('GET', '/v2/settings', undefined, 'one')
  await page.getByRole('button', { name: 'Add a discount, and retry' }).click()
  await page.getByText('has the discount once').waitFor()
  assert.equal(await rows.count(), 2)
  await send('POST', '/_store/namespaces', undefined, 'two')
  await page.locator('#namespace option', { hasText: 'namespace-1' }).waitFor({ state: 'attached' })
  assert.equal(await page.getByLabel('Namespace').inputValue(), 'two')
})

test('a namespace that was removed is left, and the browser asks for no password', async (t) => {
  const { page, send, rows } = await open(t, ['--token', 'one', '--token', 'two'], { refused: '/_store/' })
  const session = await page.context().newCDPSession(page)
  const asked = []
  session.on('Fetch.requestPaused', ({ requestId }) => {
    session.send('Fetch.continueRequest', { requestId }).catch(() => {}) // it was aborted
  })
  session.on('Fetch.authRequired', ({ requestId, request }) => {
    asked.push(request.url)
    return session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse: { response: 'CancelAuth' } })
  })
  await page.getByLabel('Namespace').selectOption('two')
  await rows.first().waitFor({ state: 'detached' })
  await send('GET', '/v2/settings', undefined, 'two')
  await rows.first().waitFor()
  await session.send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern: '*' }] })
  await send('DELETE', '/_store/namespaces', undefined, 'two')
  await page.getByText('There is no namespace "two". This is the first one.').waitFor()
  assert.equal(await page.getByLabel('Namespace').inputValue(), 'one')
  assert.deepEqual(await page.locator('#namespace option').allInnerTexts(), ['one'])
  assert.equal(await page.locator('code.token').textContent(), 'one')
  await rows.filter({ hasText: 'get cart settings' }).waitFor()
  await send('GET', '/v2/settings', undefined, 'one')
  await rows.nth(1).waitFor()
  await page.getByText('There is no namespace "two"').waitFor()

  const added = (await send('POST', '/_store/namespaces', { name: 'three' }, 'one')).body
  await page.locator('#namespace option', { hasText: 'three' }).waitFor({ state: 'attached' })
  await send('DELETE', '/_store/namespaces', undefined, added.token) // the page does not know it
  await page.getByLabel('Namespace').selectOption('three')
  await page.getByText('There is no namespace "three"').waitFor()
  assert.deepEqual(asked, [])
})

test('where others reach it, the browser asks for the token', async (t) => {
  const args = ['--addr', '0.0.0.0:0', '--allow-host', '127.0.0.1', '--page', '--token', 'secret']
  const { page, send, rows } = await open(t, args, { httpCredentials: { username: '', password: 'secret' } })
  assert.equal(new URL(page.url()).hash, '#namespace=namespace-1', 'the token is a secret')
  await send('GET', '/v2/settings')
  await rows.nth(1).waitFor()
  await page.getByRole('button', { name: 'Add a discount, and retry' }).click()
  await page.getByText('has the discount once').waitFor()
})

test('the page says that it tries again, and why, until the store is back', async (t) => {
  const { store, page, send, rows } = await open(t, ['--token', 'one', '--token', 'two'], { refused: /_store|\/v2\// })
  const startAgain = async (...args) => {
    const again = await startStore(process.env.EPCOMMERCE, '--addr', new URL(store.values.address).host, ...args)
    t.after(() => again.stop())
    return again
  }
  const trying = page.getByText(/The store does not respond \(.+\)\. Trying again each second\./)
  await send('POST', `/v2/carts/${store.values.cart}/custom-discounts`, discount('a')) // carts are read 3 s later
  await store.stop()
  await trying.waitFor()
  await page.getByRole('button', { name: 'Remove all faults' }).click()
  await page.locator('#message', { hasText: 'The store does not respond' }).waitFor()
  const texts = await page.evaluate(async () => {
    const seen = []
    for (const end = performance.now() + 3500; performance.now() < end;) {
      seen.push(document.querySelector('header').innerText)
      await new Promise(requestAnimationFrame)
    }
    return seen
  })
  assert.deepEqual(texts.filter((text) => !text.includes('Trying again')), [], `of ${texts.length} texts`)
  assert.equal(await rows.count(), 2, 'what was received is still there')

  const again = await startAgain('--token', 'one', '--token', 'two')
  await trying.waitFor({ state: 'detached' })
  await page.getByText('No request yet').waitFor()
  await page.locator('#subscriptions').waitFor()
  assert.equal((await page.locator('#messages').innerText()).trim(), '')
  await page.getByLabel('Namespace').selectOption('two')
  await page.locator('code.token', { hasText: 'two' }).waitFor()
  await again.stop()
  await trying.waitFor()
  await startAgain('--token', 'one')
  await page.getByText('There is no namespace "two". This is the first one.').waitFor()
  assert.equal(await page.getByLabel('Namespace').inputValue(), 'one')
  await send('GET', '/v2/settings', undefined, 'one')
  await rows.first().waitFor()
  assert.equal(await trying.isVisible(), false)
})

test('the address holds the namespace, but no token', async (t) => {
  const { store, page, send } = await open(t, ['--token', 'one-token', '--token', 'two-token'])
  const isShown = async (name, { address = name, token = `${name}-token`, of = page } = {}) => {
    await of.locator('code.token', { hasText: token }).waitFor({ state: 'attached' })
    assert.equal(await of.getByLabel('Namespace').inputValue(), name)
    assert.equal(new URL(of.url()).hash, `#namespace=${address}`)
  }
  await isShown('one')
  await page.getByLabel('Namespace').selectOption('two')
  await isShown('two')
  await page.reload()
  await isShown('two')
  await page.goBack()
  await isShown('one')
  await page.goForward()
  await isShown('two')
  const shared = await browser.newPage()
  await shared.goto(page.url())
  await isShown('two', { of: shared })
  await shared.close()

  const name = 'A.b-c_9'
  const { token } = (await send('POST', '/_store/namespaces', { name }, 'one-token')).body
  const go = (hash) => page.evaluate((text) => { location.hash = text }, hash)
  await go(`namespace=${name}`) // the page shows another one, and was not told
  await isShown(name, { token })

  const message = page.locator('#message')
  for (const unknown of ['two-token', '<b>x</b>" %+&=#ü\u2028', '']) {
    await go(new URLSearchParams({ namespace: unknown }).toString())
    await message.filter({ hasText: 'There is no namespace' }).waitFor()
    assert.equal(await message.innerText(), `There is no namespace ${
      JSON.stringify(unknown).replace('\u2028', '\\u2028')}. This is the first one.`)
    await isShown('one')
    await page.getByLabel('Namespace').selectOption('two')
    await isShown('two')
    assert.equal(await message.innerText(), '')
  }
  for (const other of ['', 'requests']) {
    await page.goto(`${store.values.page}#${other}`)
    await isShown('one')
    assert.equal(await message.innerText(), '')
  }
  await go('namespace=%E0%A4%A%')
  await message.filter({ hasText: 'There is no namespace' }).waitFor()
  await isShown('one')
})

for (const [width, height, most] of [[1280, 820, 1500], [360, 740, 3200]]) {
  test(`with requests the page is short, and its parts use the width of ${width} px`, async (t) => {
    const { store, page, send, rows } = await open(t, [], { viewport: { width, height } })
    const add = (id) => send('POST', `/v2/carts/${store.values.cart}/custom-discounts`, discount(id))
    const size = (name) => page.evaluate((n) => document.documentElement[n], name)
    for (let i = 0; i < 17; i++) await send('GET', `/v2/carts/${store.values.cart}`)
    await page.getByRole('button', { name: 'Lose the next response' }).click()
    await page.locator('#faults tr').waitFor()
    await assert.rejects(add('a'))
    await add('b')
    await rows.nth(19).waitFor()
    await page.locator('#after', { hasText: 'TEN-OFF' }).waitFor()
    await page.locator('#carts', { hasText: 'TEN-OFF' }).waitFor()
    await page.locator('#faults td', { hasText: 'no response' }).waitFor()
    const total = await size('scrollHeight')
    t.diagnostic(`20 requests, 100 subscriptions: ${total} px at ${width} px`)
    assert.ok(total <= most, `${total} px, want at most ${most}`)
    assert.equal(await size('scrollWidth'), width)
    const widths = await page.evaluate(() => Object.fromEntries(
      [...document.querySelectorAll('table, #request, #response')].filter((e) => e.checkVisibility()).map((e, i) => {
        const parts = e.closest('.beside')?.querySelectorAll(':scope > :not([hidden])').length ?? 1
        const perRow = e.closest('.beside') && innerWidth > 800 ? parts : 1
        return [e.id || i, e.clientWidth * perRow / e.closest('section').clientWidth]
      })))
    assert.equal(Object.keys(widths).length, 5)
    for (const [name, part] of Object.entries(widths)) assert.ok(part > 0.95, `${name} uses ${part} of the width`)
    assert.equal(await page.locator('#fault').isVisible(), false, 'there is none')
  })
}

test('what helps to start is folded once there are requests, but the user decides', async (t) => {
  const { page, send, rows } = await open(t)
  const parts = ['Connect a program', 'Subscriptions'].map((text) => page.locator('summary', { hasText: text }))
  const opened = async () => {
    const states = parts.map((part) => part.evaluate((summary) => summary.parentElement.open))
    return (await Promise.all(states)).map(Number).join('')
  }
  const reset = async () => {
    await confirmReset(page)
    await page.getByText('No request yet').waitFor()
  }
  const get = async () => {
    const n = await rows.count()
    await send('GET', '/v2/settings')
    await rows.nth(n).waitFor()
  }
  assert.equal(await opened(), '00')
  assert.equal(await page.getByRole('table').count(), 3, 'a screen reader does not read the subscriptions')
  await reset()
  assert.equal(await opened(), '11')
  assert.equal(await page.getByRole('table').count(), 4)
  await get()
  assert.equal(await opened(), '00')
  await page.reload()
  await rows.first().waitFor()
  assert.equal(await opened(), '00')

  await parts[1].focus()
  await page.keyboard.press('Enter')
  assert.equal(await opened(), '01')
  assert.match(await page.locator('#subscriptions').innerText(), /order-000100/)
  await get()
  assert.equal(await opened(), '01', 'what the user opened stays open')
  await reset()
  assert.equal(await opened(), '11')
  await parts[0].click()
  await parts[1].focus()
  await page.keyboard.press('Space')
  assert.equal(await opened(), '00')
  await get()
  await reset()
  assert.equal(await opened(), '00', 'what the user folded stays folded')
})

test('a fault names the last request that missed it', async (t) => {
  const { page, send, rows } = await open(t)
  const match = { header: { Authorization: 'x' } }
  await send('POST', '/_store/faults', { operation: 'settings', status: 503, match })
  await page.locator('#faults', { hasText: 'header Authorization: x' }).waitFor()
  await send('GET', '/v2/settings')
  await page.locator('#faults', { hasText: 'missed by commercetest-000002: header Authorization' }).waitFor()
  await rows.nth(1).waitFor()
  await page.locator('#request', { hasText: 'Authorization: Bearer redacted' }).waitFor()
})

test('what programs send is text', async (t) => {
  const { store, page, send, rows } = await open(t)
  const bad = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
  const items = `/v2/carts/${store.values.cart}/items`
  const response = await send('POST', `/v2/carts/${store.values.cart}/custom-discounts`, {
    data: [{
      type: 'custom_discount', amount: -1, description: bad, discount_code: bad, discount_engine: bad, external_id: bad,
    }],
  })
  assert.equal(response.status, 201)
  await send('POST', items, { data: { type: 'custom_item', name: bad, quantity: 1, price: { amount: 1 } } })
  await send('GET', `/${encodeURIComponent(bad)}`)
  await send('POST', '/_store/stubs', { method: 'GET', path: '/v2/x', body: bad, header: { 'X-A': bad } })
  await send('POST', '/_store/faults', { status: 500, body: bad, header: { 'X-A': bad }, match: { body: bad } })
  for (const table of ['carts', 'stubs', 'faults']) await page.locator(`#${table}`, { hasText: '<img' }).waitFor()
  await rows.nth(3).waitFor()
  for (const row of await rows.all()) {
    await row.click()
    await page.locator('#facts', { hasText: await row.getAttribute('id') }).waitFor()
  }
  assert.equal(await page.locator('img, #requests script, #carts script').count(), 0)
  assert.equal(await page.title(), 'epcommerce serve')
})

test('no character loses a request', async (t) => {
  const { store, page, send, rows } = await open(t)
  const bad = 'A\u2028B\u2029C\u0085D\u202eE'
  await send('POST', `/v2/carts/${store.values.cart}/custom-discounts`, discount('x', bad))
  await rows.filter({ hasText: '201' }).waitFor()
  assert.match(await rows.first().textContent(), /\+ A\u2028B\u2029C\u0085D\u202eE -\$10.00/)
  assert.match(await page.locator('#request').innerText(), /"A\\u2028B\\u2029C.D\\u202eE"/)
})

test('long and right-to-left texts stay in their place', async (t) => {
  const { page, send, rows } = await open(t, [], { viewport: { width: 360, height: 740 } })
  const long = 'x'.repeat(300)
  await send('GET', `/v2/carts/${long}`)
  const discounts = [{ ...discount(long, long).data[0], discount_engine: long }]
  const cart = (await send('POST', '/_store/carts', { discounts })).body.id
  await send('POST', `/v2/carts/${cart}/custom-discounts`, discount('rtl', '\u05d0\u05d1\u05d2'))
  const match = { path: `/v2/${long}` }
  await send('POST', '/_store/faults', { status: 500, body: long, header: { 'X-A': long }, match })
  await send('POST', '/_store/stubs', { method: 'GET', path: `/v2/${long}`, body: long })
  await page.locator('#stubs tr').waitFor()
  await page.locator('#faults tr').waitFor()
  await rows.nth(2).waitFor()
  await rows.nth(1).click()
  await page.locator('#detail-title', { hasText: long }).waitFor()
  await rows.nth(0).click()
  await page.locator('#after', { hasText: long }).waitFor()
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360)
  for (const element of ['header', 'main > *', 'th', 'td', 'li', 'label', 'code', '#message']) {
    const right = await page.locator(element).evaluateAll((all) => all.map((e) => e.getBoundingClientRect().right))
    assert.ok(Math.max(...right) < 361, `${element} is wider than the page`)
  }
  const [code, amount] = await rows.first().evaluate((row) => {
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
    const left = {}
    for (let node; (node = walker.nextNode());) {
      const range = document.createRange()
      range.selectNodeContents(node)
      left[node.data.includes('\u05d0') ? 'code' : node.data] = range.getBoundingClientRect().left
    }
    return [left.code, left['-$10.00']]
  })
  assert.ok(code < amount, 'the amount is to the right of the code')
})

test('rows have what requests did in words, and which cart', async (t) => {
  const { store, page, send, rows } = await open(t)
  const path = `/v2/carts/${store.values.cart}`
  const item = { data: { type: 'custom_item', name: 'Mug', quantity: 1, price: { amount: 500 } } }
  await send('POST', `${path}/items`, item)
  const { id } = (await send('GET', `${path}/items`)).body.data.find(({ name }) => name === 'Mug')
  await send('PUT', `${path}/items/${id}`, { data: { type: 'custom_item', id, quantity: 5 } })
  await send('DELETE', `${path}/items/${id}`)
  await send('POST', `${path}/custom-discounts`, discount('a'))
  const [{ id: d }] = (await send('GET', `${path}?include=custom_discounts`)).body.included.custom_discounts
  await send('PUT', `${path}/custom-discounts/${d}`, { data: { ...discount('a').data[0], amount: -2000 } })
  await send('DELETE', `${path}/custom-discounts/${d}`)
  await send('DELETE', `${path}/custom-discounts/${d}`)
  await rows.nth(9).waitFor()
  const texts = (await rows.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').replace(/ \d+ ms [\d:]+/, ''))
  const short = store.values.cart.slice(0, 8)
  assert.deepEqual(texts.slice(1).reverse(), [
    '200 GET get cart settings', `201 POST add item ${short} + 1 × Mug`, `200 GET items ${short}`,
    `200 PUT update item ${short} quantity 1 → 5 of Mug`, `200 DELETE delete item ${short} item removed: Mug`,
    `201 POST add ${short} + TEN-OFF -$10.00`, `200 GET cart ${short}`,
    `200 PUT update discount ${short} discount changed: TEN-OFF -$10.00 → -$20.00`,
    `204 DELETE delete discount ${short} discount removed: TEN-OFF`,
  ])
  assert.match(texts[0], /^404 DELETE delete discount \w{8} \w+/, 'the detail of the error')

  const visible = async (filter) => {
    await page.locator('#filter').fill(filter)
    return (await rows.locator('.outcome').allInnerTexts()).length
  }
  const expectRows = async (filter, n) => {
    await page.locator('#filter').fill(filter)
    await page.locator('#count', { hasText: new RegExp(`^${n} of 10 `) }).waitFor()
    assert.equal(await rows.count(), n, filter)
  }
  assert.equal(await visible(''), 10)
  await expectRows('404', 1)
  await expectRows('DELETE', 3)
  await expectRows('delete discount', 2)
  await expectRows('settings', 1)
  await expectRows(store.values.cart, 9)
  await expectRows(`/${d}`, 3)
  await expectRows('quantity 1 → 5', 1)
  await expectRows('ten-off', 3)
  await expectRows('mug removed', 1)
  await expectRows('nothing like this', 0)
})

test('the row that is selected stays', async (t) => {
  const { page, send, rows } = await open(t)
  const some = async (n) => {
    for (let i = 0; i < n; i += 10) await Promise.all(Array.from({ length: 10 }, () => send('GET', '/v2/settings')))
  }
  await rows.first().click()
  assert.equal(await page.locator('#newest').isChecked(), false)
  await some(250)
  await page.locator('#count', { hasText: 'of 251' }).waitFor()
  assert.equal(await rows.count(), 201)
  const selected = page.locator('#requests [aria-selected=true]')
  assert.match(await selected.innerText(), /get cart settings/)
  assert.match(await page.locator('#detail-title').innerText(), /settings\/cart/)
  await page.getByRole('button', { name: 'Show more requests' }).click()
  await rows.nth(250).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Show more requests' }).isVisible(), false)

  await page.locator('#filter').fill('nothing')
  await page.locator('#count', { hasText: '0 of 251' }).waitFor()
  assert.equal(await rows.count(), 1)
  assert.match(await selected.innerText(), /get cart settings/)
  await page.locator('#filter').fill('')
  await rows.nth(250).waitFor()
  await page.getByLabel('Select each new request').check()
  await page.waitForFunction(() => document.querySelector('#requests li').ariaSelected === 'true')
  await some(10)
  await rows.nth(260).waitFor()
  assert.equal(await rows.first().getAttribute('aria-selected'), 'true')
})

/** Returns requests as the store lists them. */
const oldRequests = (n) => Array.from({ length: n }, (_, i) => ({
  id: `old-${i}`, method: 'GET', path: `/v2/old-${i}.`, query: {}, header: {}, body: null, operation: '', status: 200,
  response: null, fault: 0, state: 'ended', time: '2026-01-01T00:00:00Z', duration_ms: 1,
}))

test('the row that is selected stays when the list is full', async (t) => {
  const { page, send, rows } = await open(t, [], {
    before: ({ page: p }) => p.route('**/_store/requests', (route) => route.fulfill({
      json: { requests: oldRequests(10_000), pending: 0, dropped: 0 },
    })),
  })
  await page.locator('#count', { hasText: '10000 of 10000' }).waitFor()
  await page.locator('#filter').fill('old-5.')
  await rows.first().click()
  await page.locator('#filter').fill('')
  for (let i = 0; i < 10; i++) await send('GET', '/v2/settings')
  await rows.nth(200).waitFor()
  assert.match(await page.locator('#requests [aria-selected=true]').innerText(), /old-5\./)
  await page.locator('#filter').fill('/v2/old')
  await page.locator('#count', { hasText: /^99(89|90) of 10000/ }).waitFor() // the others were dropped
})

test('the row that is selected stays when the events begin again', async (t) => {
  let answer = { requests: oldRequests(5), pending: 0, dropped: 0 }
  const { page, rows } = await open(t, [], {
    async before({ page: p }) {
      await p.route('**/_store/requests', (route) => route.fulfill({ json: answer }))
      await p.route('**/_store/events', (route) => route.fulfill({ body: ': end\n\n' }))
    },
  })
  await rows.nth(4).click()
  answer = { requests: oldRequests(9).slice(7), pending: 0, dropped: 7 }
  await rows.filter({ hasText: 'old-8' }).waitFor()
  const paths = await rows.locator('bdi:has-text("old")').allInnerTexts()
  assert.deepEqual(paths, ['/v2/old-8.', '/v2/old-7.', '/v2/old-0.'])
  assert.equal(await rows.nth(2).getAttribute('aria-selected'), 'true')
  answer = { requests: oldRequests(3).slice(1), pending: 0, dropped: 0 } // another store
  await rows.filter({ hasText: 'old-1' }).waitFor()
  assert.equal(await rows.count(), 2)
})

test('requests in progress and late writes', async (t) => {
  const { store, page, send, rows } = await open(t)
  await send('POST', '/_store/faults', { operation: 'settings', delay: '3s' })
  await send('POST', '/_store/faults', { operation: 'add', late: true, status: 504, delay: '3s' })
  const slow = send('GET', '/v2/settings')
  await rows.filter({ hasText: 'in progress' }).waitFor()
  assert.match(await rows.first().innerText(), /^… ⚡\s+GET settings\s+\d\d:\d\d:\d\d\s+in progress$/)
  await rows.first().focus()
  await page.locator('#count', { hasText: '1 in progress or late' }).waitFor()
  assert.equal((await send('POST', `/v2/carts/${store.values.cart}/custom-discounts`, discount('a'))).status, 504)
  await rows.filter({ hasText: 'late write' }).waitFor()
  assert.match(await rows.first().innerText(), /^504 ⚡\s+POST add[^]*late write: it takes effect later$/)
  await slow
  await rows.filter({ hasText: /^200 ⚡\s+GET settings/ }).waitFor()
  assert.ok(await rows.nth(1).evaluate((row) => row === document.activeElement), 'a row that ends keeps the focus')
  await rows.filter({ hasText: /504 ⚡\s+POST add[^]*\+ TEN-OFF -\$10.00/ }).waitFor()
  await page.locator('#count', { hasText: ' 0 in progress or late' }).waitFor()
  await page.locator('#carts tr', { hasText: 'TEN-OFF' }).waitFor()
})

test('faults have all that they match and do, and errors are in the form', async (t) => {
  const { store, page, send } = await open(t, [], { refused: /_store\/(faults|stubs)/ })
  const form = page.locator('#add-fault')
  await form.getByText('More about the fault').click()
  await form.getByLabel('Operation').selectOption('add')
  await form.getByLabel('Status').fill('504')
  await form.getByLabel('Times').fill('')
  await form.getByLabel('Delay', { exact: true }).fill('soon')
  await form.getByLabel('takes effect late').check()
  await form.getByLabel('Body of the response').fill('{"errors":[]}')
  await form.getByLabel('Path', { exact: true }).fill('/v2/carts/*/custom-discounts')
  await form.getByLabel('Cart', { exact: true }).fill(store.values.cart)
  await form.getByLabel('Header').fill('X-Worker: 7:1')
  await form.getByLabel('Text in the body').fill('TEN-OFF')
  await page.keyboard.press('Enter')
  await form.getByRole('alert').filter({ hasText: 'delay' }).waitFor()
  await form.getByLabel('Delay', { exact: true }).fill('10ms')
  await page.keyboard.press('Enter')
  const row = page.locator('#faults tr')
  await row.waitFor()
  assert.equal(await form.getByRole('alert').isVisible(), false)
  const text = (await row.innerText()).replace(/\s+/g, ' ')
  for (const part of [
    '1 add', 'path /v2/carts/*/custom-discounts', `cart ${store.values.cart}`, 'header X-Worker: 7:1', 'body TEN-OFF',
    'takes effect late', 'delay 10ms', 'status 504', 'body {"errors":[]}', '0 all',
  ]) assert.ok(text.includes(part), `${part} is not in ${text}`)
  await send('POST', `/v2/carts/${store.values.cart}/custom-discounts`, discount('a'))
  assert.equal((await send('GET', '/_store/faults')).body.faults[0].met, 0)
  await page.getByRole('button', { name: 'Remove all faults' }).click()
  await row.waitFor({ state: 'detached' })

  await send('POST', '/_store/faults', {
    operation: 'settings', apply: true, cut: true, cut_after: 7, after: 2, times: 3, header: { 'Retry-After': '2' },
  })
  await row.waitFor()
  assert.equal((await row.innerText()).replace(/\s+/g, ' '),
    '2 settings not the first 2 takes effect header { "Retry-After": [ "2" ] } no response cut after 7 0 3')

  const stubs = page.locator('#add-stub')
  await stubs.getByLabel('Path').fill('/v2/settings')
  await stubs.getByRole('button', { name: 'Add the stub' }).click()
  await stubs.getByRole('alert').filter({ hasText: 'endpoint' }).waitFor()
  await stubs.getByLabel('Path').fill('/v2/returns/{id}')
  await stubs.getByLabel('Status').fill('202')
  await stubs.getByLabel('Body').fill('{"data":{"id":"o"}}')
  await page.keyboard.press('Enter')
  await page.locator('#stubs tr').waitFor()
  assert.match(await page.locator('#stubs').innerText(), /^GET\s+\/v2\/returns\/{id}\s+202\s+{"data":{"id":"o"}}$/)
  assert.deepEqual(await send('GET', '/v2/returns/1'), { status: 202, body: { data: { id: 'o' } } })
  await page.getByRole('button', { name: 'Remove all stubs' }).click()
  await page.locator('#stubs tr').waitFor({ state: 'detached' })
  assert.equal((await send('GET', '/v2/returns/1')).status, 404)
})

/** The tests of axe-core, an accessibility checker. It is added to a page whose policy is off. */
const axe = createRequire(import.meta.url).resolve('axe-core')
for (const [name, options] of Object.entries({
  light: { colorScheme: 'light' },
  'dark, 360 px': { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
})) {
  test(`accessibility, ${name}`, async (t) => {
    const { page, send, rows } = await open(t, ['--subscriptions', '3'], {
      bypassCSP: true, reducedMotion: 'reduce', refused: /\/v2\/|_store\/faults/, ...options,
    })
    await page.addScriptTag({ path: axe })
    const findings = () => page.evaluate(async () => {
      const { violations } = await globalThis.axe.run({ resultTypes: ['violations'] })
      return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`))
    })
    await confirmReset(page)
    await page.getByText('No request yet').waitFor()
    assert.deepEqual(await findings(), [], 'without requests')
    await send('POST', '/_store/stubs', { method: 'GET', path: '/v2/x', body: {} })
    await page.getByRole('button', { name: 'Lose the next response' }).click()
    await page.getByRole('button', { name: 'Add a discount, and retry' }).click()
    await page.getByText('has the discount 2 times').waitFor()
    await send('GET', '/v2/x')
    await send('GET', '/v2/y')
    await send('POST', '/_store/faults', { operation: 'settings', status: 503, times: 1 })
    await send('POST', '/_store/faults', { operation: 'settings', delay: '60s' })
    await send('GET', '/v2/settings')
    void send('GET', '/v2/settings').catch(() => {})
    await rows.filter({ hasText: 'in progress' }).waitFor()
    await rows.nth(4).click()
    await page.locator('#after .twice').first().waitFor()
    await page.getByText('More about the fault').click()
    await page.locator('#faults tr').nth(2).waitFor()
    await page.locator('#stubs tr').waitFor()
    await page.locator('#add-fault [name=delay]').fill('soon')
    await page.keyboard.press('Enter')
    await page.locator('#add-fault .error').waitFor()
    await page.locator('#filter').fill('nothing')
    await page.locator('#requests .unfit').waitFor()
    assert.deepEqual(await findings(), [], 'with a filter')
    await page.locator('#filter').fill('')
    await rows.nth(4).waitFor()
    assert.deepEqual(await findings(), [], 'with requests, faults and stubs')
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true)
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0)

    const low = await page.evaluate(() => {
      const luminance = (color) => {
        const [r, g, b] = color.match(/[\d.]+/g).map((n) => ((n / 255 + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
      }
      const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      const page = luminance(getComputedStyle(document.body).backgroundColor)
      const controls = document.querySelectorAll('button, select, input:not([type=checkbox]), #requests')
      return [...controls].filter((element) => {
        const { borderTopColor, backgroundColor, borderTopWidth } = getComputedStyle(element)
        const inside = backgroundColor.endsWith(', 0)') ? page : luminance(backgroundColor)
        const border = luminance(borderTopColor)
        return borderTopWidth === '0px' || contrast(border, page) < 3 || contrast(border, inside) < 3
      }).map((element) => element.outerHTML)
    })
    assert.deepEqual(low, [], 'borders with a contrast under 3:1')

    for (const part of await page.locator('.start > summary').all()) await part.click()
    assert.deepEqual(await findings(), [], 'with all parts open')
    await page.getByRole('button', { name: 'Reset the store' }).click()
    await page.getByRole('dialog').waitFor()
    assert.deepEqual(await findings(), [], 'with the dialog')
  })
}

test('a full store shows one more request at once', async (t) => {
  const carts = []
  const change = (send, i) => (i % 5 ? send('GET', `/v2/carts/${carts[i % 500]}`)
    : send('POST', `/v2/carts/${carts[(i / 5) % 500]}/custom-discounts`, discount(`x-${i}`, `C-${i}`)))
  const { page, send, rows } = await open(t, [], {
    async before({ page: p, send: s }) {
      await p.addInitScript(() => { // notes when an event arrives
        const { read } = ReadableStreamDefaultReader.prototype
        ReadableStreamDefaultReader.prototype.read = async function (...args) {
          const result = await read.apply(this, args)
          if (String(result.value).includes('event: request')) globalThis.arrived ??= performance.now()
          return result
        }
        globalThis.timeNext = () => new Promise((resolve) => {
          globalThis.arrived = undefined
          const list = document.querySelector('#requests')
          const first = list.firstElementChild
          new MutationObserver((_, observer) => {
            if (list.firstElementChild === first) return
            observer.disconnect()
            const painted = new MessageChannel()
            painted.port1.onmessage = () => resolve(performance.now() - globalThis.arrived)
            requestAnimationFrame(() => painted.port2.postMessage(0))
          }).observe(list, { childList: true })
        })
      })
      for (let i = 0; i < 500; i += 20) {
        const added = await Promise.all(Array.from({ length: 20 }, () => s('POST', '/_store/carts', {})))
        carts.push(...added.map(({ body }) => body.id))
      }
      for (let i = 0; i < 5000; i += 20) await Promise.all(Array.from({ length: 20 }, (_, k) => change(s, i + k)))
    },
  })
  await page.locator('#count', { hasText: 'of 5001' }).waitFor()
  await page.locator('#carts tr').nth(99).waitFor()
  assert.equal(await rows.count(), 200)
  assert.equal(await page.locator('#carts tr').count(), 100)
  await page.waitForTimeout(4000) // it is calm

  const reads = []
  page.on('request', (request) => { if (request.url().endsWith('/_store/carts')) reads.push(request.url()) })
  await page.evaluate(() => {
    for (const row of document.querySelectorAll('#carts tr, #requests li, #subscriptions tr')) row.old = true
  })
  const times = []
  for (let i = 0; i < 10; i++) {
    await page.evaluate(() => { globalThis.time = globalThis.timeNext() })
    await change(send, 5 * (i + 3))
    times.push(Math.round(await page.evaluate(() => globalThis.time)))
  }
  await page.waitForTimeout(500)
  const old = (selector) => page.locator(selector).evaluateAll((all) => all.filter((row) => row.old).length)
  t.diagnostic(`5,000 requests, 500 carts: one more is painted after ${times.sort((a, b) => a - b).join(', ')} ms`)
  assert.ok(times[5] < 500, `median of ${times} ms`)
  assert.ok(reads.length <= 2, `all carts were read ${reads.length} times`)
  assert.equal(await old('#requests li'), 190)
  assert.ok(await old('#carts tr') >= 90, 'the other carts were drawn again')
  assert.equal(await old('#subscriptions tr'), 100)
  assert.match(await page.locator('#carts tr').first().innerText(), new RegExp(carts[12]), 'it changed last')
  await page.getByRole('button', { name: 'Show more carts' }).click()
  await page.locator('#carts tr').nth(199).waitFor()
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
