// The page of epcommerce serve. All that programs sent is set as text.

const kept = 10_000 // requests, as many as the store keeps
const $ = (id) => document.getElementById(id)
let all = [] // namespaces
let namespace // that the page shows
let stream // aborts its events
let filter = [] // words in lower case
let isUsed // there are requests

/** Makes an element with properties and with children, which are elements or texts. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}

/** Makes a text with values that programs sent. One that runs from right to left reorders only itself. */
function phrase(texts, ...values) {
  return make('span', {}, ...texts.flatMap((text, i) => (i ? [make('bdi', {}, values[i - 1] ?? ''), text] : text)))
}

/** Returns JSON to read. Characters that cannot be seen, or that reorder others, are escaped. */
function json(value) {
  const escape = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, 1).replace(/[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, escape)
}

/** Returns options of a request. With a token the browser never asks for another one, as it would by itself. */
const withToken = (token) => (token ? { credentials: 'omit', headers: { Authorization: `Bearer ${token}` } } : {})

/** Fetches, with an error that a user understands. */
const ask = (path, options) => fetch(path, options).catch(({ message }) => {
  throw new Error(`The store does not respond (${message})`)
})

/** Sends a request with JSON to the store, and returns the JSON of the response. */
async function send(method, path, body, token = namespace?.token) {
  const { headers, ...options } = withToken(token)
  const response = await ask(path, {
    method, body: body && JSON.stringify(body), headers: { ...headers, 'Content-Type': 'application/json' }, ...options,
  })
  const text = await response.text()
  if (!response.ok) throw new Error(JSON.parse(text).errors[0].detail)
  return text && JSON.parse(text)
}

function report(message, where = $('message')) {
  if (where.textContent !== message) where.textContent = message // a screen reader reads what is set
}

/** Runs what a click asks for, and reports how it went: by a message, or by what it returns. */
async function run(work, message, problem = $('message')) {
  report('', problem)
  await work().then((result) => report(message ?? result), (error) => report(error.message, problem))
}

/** Returns a function that does work after a time, or with 0 before the next frame: once for many calls. */
function soon(ms, work) {
  let due
  const start = () => { try { work() } finally { due = undefined } }
  return () => { due ??= ms ? setTimeout(start, ms) : requestAnimationFrame(start) }
}

const keyOf = ({ id, number, method, path }) => id ?? number ?? `${method} ${path}`

/** The rows of a list or a table. Only those within the limit are drawn, and each again only after it changed. */
class Rows {
  entries = new Map() // by key, the oldest first

  constructor(id, draw, { step = 100, fits = () => true, renderSoon = () => renderTables() } = {}) {
    Object.assign(this, { parent: $(id), more: $(`${id}-more`), draw, step, limit: step, fits, renderSoon })
    this.more.addEventListener('click', () => this.renderSoon(this.limit += step))
  }

  /** Sets the value of a row. If isNewest, the row is the first then. */
  set(value, isNewest = false) {
    const key = keyOf(value)
    const entry = this.entries.get(key) ?? { key }
    if (isNewest) this.entries.delete(key)
    this.entries.set(key, entry)
    if (!entry.value || JSON.stringify(entry.value) !== JSON.stringify(value)) {
      Object.assign(entry, { value, changed: performance.now(), isDrawn: false, text: undefined })
    }
    this.renderSoon()
  }

  /** Sets all values, which were read at a time. Rows that changed after it are newer. */
  replace(values, time) {
    if (time < this.time) return
    this.time = time
    const read = new Map(values.map((value) => [keyOf(value), value]))
    for (const { key, changed } of [...this.entries.values()]) {
      if (changed > time) read.delete(key)
      else if (!read.has(key)) this.entries.delete(key)
    }
    for (const value of read.values()) this.set(value)
    this.renderSoon()
  }

  clear() {
    this.entries.clear()
    this.limit = this.step
    this.renderSoon()
  }

  /** Selects a row, which is shown whatever the limit and the filter are. */
  select(key) {
    for (const changed of [this.selected, key]) Object.assign(this.entries.get(changed) ?? {}, { isDrawn: false })
    this.selected = key
    this.renderSoon()
  }

  render() {
    const rows = []
    this.fitting = 0
    for (const entry of [...this.entries.values()].reverse()) {
      const fits = this.fits(entry)
      if (fits) this.fitting++
      if (entry.key === this.selected || (fits && rows.length < this.limit)) {
        entry.row ??= make(this.parent.tagName === 'TBODY' ? 'tr' : 'li')
        if (!entry.isDrawn) entry.row.replaceChildren(...this.draw(entry.value, entry.row))
        entry.isDrawn = true
        entry.row.classList.toggle('unfit', !fits)
        rows.push(entry.row)
      } else Object.assign(entry, { row: undefined, isDrawn: false })
    }
    const { children } = this.parent
    const wanted = new Set(rows)
    for (const row of [...children]) if (!wanted.has(row)) row.remove()
    rows.forEach((row, i) => { // one that stays is not moved: it would lose the focus
      if (children[i] !== row) this.parent.insertBefore(row, children[i] ?? null)
    })
    this.more.hidden = this.fitting <= rows.length
  }
}

/** Describes the outcome of a request by a text and a class. */
function outcome({ state, status, fault }) {
  const text = state === 'in_progress' ? '…' : String(status || 'lost')
  const kind = text === '…' ? 'quiet' : text === 'lost' || status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'ok'
  return fault ? [`${text} ⚡`, 'fault'] : [text, kind]
}

/** Returns the id of the cart that a request is about, or "". */
function cartOf({ path, operation, response }) {
  return /^\/v2\/carts\/([^/]+)/.exec(path)?.[1] ?? ((operation === 'create cart' && response?.data?.id) || '')
}

const formatted = (money) => money.formatted || `${money.amount} ${money.currency}`

/** Pairs what differs in a part of two states of a cart, by the ids. */
function differences(before, after, part) {
  const pairs = new Map()
  for (const value of before?.[part] ?? []) pairs.set(value.id, [value])
  for (const value of after?.[part] ?? []) pairs.set(value.id, [pairs.get(value.id)?.[0], value])
  return [...pairs.values()].filter(([was, is]) => JSON.stringify(was) !== JSON.stringify(is))
}

function itemChange([was, is]) {
  if (!was) return phrase`+ ${is.quantity} × ${is.name}`
  if (!is) return phrase`item removed: ${was.name}`
  if (was.quantity !== is.quantity) return phrase`quantity ${was.quantity} → ${is.quantity} of ${is.name}`
  return phrase`price ${formatted(was.price)} → ${formatted(is.price)} of ${is.name}`
}

function discountChange([was, is]) {
  if (!was) return phrase`+ ${is.discount_code} ${formatted(is.amount)}`
  if (!is) return phrase`discount removed: ${was.discount_code}`
  return phrase`discount changed: ${is.discount_code} ${formatted(was.amount)} → ${formatted(is.amount)}`
}

/** Describes what a request did, as elements. */
function effects({ state, before, after, response }) {
  if (state === 'in_progress') return [phrase`in progress`]
  if (state === 'late') return [phrase`late write: it takes effect later`]
  const [error] = response?.errors ?? []
  if (!before && !after) return error ? [phrase`${error.detail ?? error.title}`] : []
  const items = differences(before, after, 'items').map(itemChange)
  const list = [...items, ...differences(before, after, 'discounts').map(discountChange)]
  return list.length ? list : [phrase`no change`]
}

const itemList = ({ items }) => items.map(({ quantity, name, price }) => make('li', {},
  phrase`${quantity} × ${name} ${formatted(price)}`))

/** Returns list items for the discounts of a cart. One that is there twice stands out. */
function discountList({ items, discounts }) {
  const itemOf = (d) => d.relationships?.item?.data?.id
  const key = (d) => JSON.stringify([d.discount_engine, d.external_id, itemOf(d)])
  return discounts.map((d) => {
    const twice = discounts.filter((other) => key(other) === key(d)).length > 1
    const item = items.find(({ id }) => id === itemOf(d))
    return make('li', { className: twice ? 'twice' : '' },
      phrase`${d.discount_code} ${formatted(d.amount)} (${d.discount_engine} ${d.external_id})`,
      item ? phrase` for ${item.name}` : '', twice ? ', twice' : '')
  })
}

const contents = (cart) => (cart
  ? [...itemList(cart), ...discountList(cart), make('li', {}, `Total ${formatted(cart.total)}`)] : [])

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

function requestRow(request, row) {
  const { id, method, operation, path, time, duration_ms: ms, state } = request
  const ariaSelected = id === requests.selected
  Object.assign(row, { id, role: 'option', tabIndex: ariaSelected ? 0 : -1, ariaSelected })
  const [text, kind] = outcome(request)
  return [
    make('span', { className: `outcome ${kind}` }, text), ' ',
    make('span', { className: 'what' }, phrase`${method} ${operation || path}`), ' ',
    make('span', { className: 'quiet' }, phrase`${cartOf(request).slice(0, 8)}`), ' ',
    make('span', { className: 'quiet' }, state === 'in_progress' ? '' : `${ms} ms`), ' ',
    make('time', { className: 'quiet', dateTime: time }, clock.format(new Date(time))), ' ',
    ...effects(request).flatMap((effect) => [Object.assign(effect, { className: 'effect' }), ' ']),
  ]
}

function fitsFilter(entry) {
  if (!filter.length) return true
  const { method, operation, path } = entry.value
  entry.text ??= [
    outcome(entry.value)[0], method, operation, path, cartOf(entry.value),
    ...effects(entry.value).map(({ textContent }) => textContent),
  ].join(' ').toLowerCase()
  return filter.every((word) => entry.text.includes(word))
}

const cells = (...contents) => contents.map((content) => make('td', {}, content))
const bodyText = (body) => (typeof body === 'string' ? body : json(body))
const requests = new Rows('requests', requestRow, { step: 200, fits: fitsFilter, renderSoon: () => renderRequests() })
const tables = {
  faults: new Rows('faults', ({ number, operation, matches, missed, times, met, left, ...members }) => {
    const words = { apply: 'takes effect', late: 'takes effect late', cut: 'no response', after: 'not the first' }
    const set = Object.entries(members).filter(([, value]) => value && value !== '0s' && json(value) !== '{}')
    const effect = set.map(([name, value]) => make('li', {}, words[name] ?? name.replace('_', ' '),
      value === true ? '' : phrase` ${bodyText(value)}`))
    const only = [matches && phrase`${matches}`, missed && phrase`missed by ${missed}`].filter(Boolean)
    return cells(String(number), operation || 'all', make('ul', {}, ...only.map((text) => make('li', {}, text))),
      make('ul', {}, ...effect), String(met), left < 0 ? 'all' : String(left))
  }),
  stubs: new Rows('stubs', ({ method, path, status, body }) => cells(
    method, phrase`${path}`, String(status || 200), phrase`${bodyText(body)}`)),
  carts: new Rows('carts', (cart) => cells(
    cart.id, make('ul', {}, ...itemList(cart)), make('ul', {}, ...discountList(cart)), formatted(cart.total))),
  subscriptions: new Rows('subscriptions', (sub) => cells(
    sub.external_ref, phrase`${sub.email}`, sub.state, sub.currency, sub.id)),
}

const renderTables = soon(200, () => {
  for (const table of Object.values(tables)) table.render()
  showDetail() // its fault is known now
})
const renderRequests = soon(0, () => {
  const entries = [...requests.entries.values()]
  const newest = entries.findLast(fitsFilter)?.key
  if (!requests.entries.has(requests.selected)) $('newest').checked = true
  if ($('newest').checked && requests.selected !== newest) requests.select(newest)
  requests.render()
  $('listed').hidden = !entries.length
  $('no-requests').hidden = entries.length > 0
  const pending = entries.filter(({ value: { state } }) => state !== 'ended').length
  $('count').textContent = `${requests.fitting} of ${entries.length} fit the filter. ${pending} in progress or late.`
  showDetail()
})

let shown = [] // a request and its fault
function showDetail() {
  const request = requests.entries.get(requests.selected)?.value
  const fault = tables.faults.entries.get(request?.fault)?.value
  if (shown[0] === request && shown[1] === fault) return
  shown = [request, fault]
  $('detail').hidden = !request
  if (!request) return
  const body = (value) => (value ? json(value) : 'no JSON')
  const lines = (values) => Object.entries(values).map(([name, list]) => `${name}: ${list.join(', ')}\n`).join('')
  $('detail-title').replaceChildren(phrase`${request.method} ${request.path}`)
  $('facts').textContent = `${request.id} at ${request.time}`
  $('request').textContent = `${lines(request.query)}${body(request.body)}\n\n${lines(request.header)}`
  $('response').textContent = request.state === 'in_progress' ? 'in progress'
    : `${outcome(request)[0]} after ${request.duration_ms} ms\n${body(request.response)}`
  $('fault').parentElement.hidden = !request.fault
  $('fault').textContent = `number ${request.fault}\n${fault ? json(fault) : 'removed'}`
  $('change').hidden = !request.before && !request.after
  $('before').replaceChildren(...contents(request.before))
  $('after').replaceChildren(...contents(request.after))
}

/** Selects a row for the user. It stays so. */
function choose(row) {
  $('newest').checked = false
  requests.select(row.id)
}

/** Folds what helps to start if there are requests, otherwise opens it, unless the user has chosen. */
function fold(next) {
  isUsed = next
  for (const part of document.querySelectorAll('.start:not(.chosen)')) part.open = !isUsed
}

function receive(request) {
  fold(true)
  requests.set(request)
  for (const key of requests.entries.keys()) {
    if (requests.entries.size <= kept) break
    if (key !== requests.selected) requests.entries.delete(key)
  }
}

/** Shows a request and what it changed, or reads that soon. */
function takeOver(request) {
  const { operation, fault, after } = request
  const id = cartOf(request)
  receive(request)
  if (after) tables.carts.set({ id, ...after }, true)
  if (after) compareCarts()
  else if (id && (operation === 'delete cart' || !tables.carts.entries.has(id))) readSoon.carts()
  if (operation === 'change state') readSoon.subscriptions()
  const maySelect = ({ value: { matches, left } }) => matches && left
  if (fault || [...tables.faults.entries.values()].some(maySelect)) readSoon.faults()
}

/** Reads the requests that came before the event that the list is empty, and were taken for older ones. */
async function readMissed() {
  const { signal } = stream
  const { requests: list } = await send('GET', '/_store/requests')
  if (!signal.aborted) list.filter(({ id }) => !requests.entries.has(id)).forEach(receive)
}

async function read(name) {
  const { signal } = stream
  const time = performance.now()
  const { [name]: list, message } = await send('GET', `/_store/${name}`).catch((error) => error)
  if (signal.aborted) return
  if (!list) report(message)
  else if (name === 'namespaces') showNamespaces(list)
  else tables[name].replace(name === 'stubs' || name === 'subscriptions' ? list.reverse() : list, time)
}

const lists = ['namespaces', ...Object.keys(tables)]
const readSoon = Object.fromEntries(lists.map((name) => [name, soon(200, () => read(name))]))
const compareCarts = soon(3000, readSoon.carts) // events of writes at the same time may come in another order

function handle(event) {
  const [, name, data] = event.match(/^event: (\w+)\ndata: (.*)$/s) ?? []
  if (name === 'cleared') {
    requests.clear()
    fold(false)
    readMissed().catch(({ message }) => report(message))
  }
  if (name === 'request') takeOver(JSON.parse(data))
  else if (name) for (const list of lists) readSoon[list]()
}

function showNamespaces(list) {
  const isSame = String(list.map(({ name }) => name)) === String(all.map(({ name }) => name))
  all = list
  if (isSame) return
  $('namespace').replaceChildren(...all.map(({ name }) => make('option', { selected: name === namespace?.name }, name)))
}

/** Shows the namespace that the address names, or the first one, and follows its events. */
async function show() {
  const name = new URLSearchParams(location.hash.slice(1)).get('namespace')
  const find = () => all.find((other) => other.name === name)
  if (!find()) showNamespaces((await send('GET', '/_store/namespaces', undefined, '')).namespaces)
  stream?.abort()
  stream = new AbortController()
  namespace = find() ?? all[0]
  report(name === null || namespace.name === name ? '' : `There is no namespace ${json(name)}. This is the first one.`)
  history.replaceState(null, '', `#${new URLSearchParams({ namespace: namespace.name })}`)
  $('namespace').value = namespace.name
  const address = location.origin
  const { token, cart } = namespace
  const options = location.protocol === 'https:' ? '-sSk' : '-sS' // k: the store made the certificate
  const curl = `curl ${options} -H "Authorization: Bearer ${token}" ${address}/v2/carts/${cart}`
  const texts = { ...namespace, address, curl }
  for (const code of document.querySelectorAll('code')) code.textContent = texts[code.className]
  for (const rows of [requests, ...Object.values(tables)]) rows.clear()
  report('', $('connection'))
  follow(stream.signal)
}

async function follow(signal) {
  while (!signal.aborted) {
    const problem = await receiveEvents(signal).catch((error) => error.message)
    if (signal.aborted) return
    report('')
    report(`${problem}. Trying again each second.`, $('connection'))
    await leaveRemoved().catch(() => {}) // the next try reports why
    await new Promise((resolve) => { setTimeout(resolve, 1000) })
  }
}

/** Receives events until they end, and returns why. The first ones wait until all has been read. */
async function receiveEvents(signal) {
  const response = await ask('/_store/events', { signal, ...withToken(namespace.token) })
  if (!response.ok) return `The token is refused with status ${response.status}`
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const { requests: list, dropped } = await send('GET', '/_store/requests')
  if (signal.aborted) return ''
  const selected = requests.entries.get(requests.selected)
  requests.entries.clear()
  fold(list.length > 0)
  if (selected && dropped) receive(selected.value)
  list.forEach(receive)
  renderRequests()
  await Promise.all(lists.map(read))
  report('', $('connection'))
  for (let rest = ''; ;) {
    const { done, value } = await reader.read()
    if (done) return 'The events have ended'
    const events = (rest + value).split('\n\n')
    rest = events.pop()
    events.forEach(handle)
  }
}

/** Shows another namespace if the one that is shown was removed. */
async function leaveRemoved() {
  const { namespaces } = await send('GET', '/_store/namespaces', undefined, '')
  if (namespaces.some(({ token }) => token === namespace.token)) return
  showNamespaces(namespaces)
  await show()
}

/** What a simple client does: it adds a discount, and tries again after an error. */
async function addAndRetry() {
  const { id } = await send('POST', '/_store/carts', {})
  const discount = {
    type: 'custom_discount', amount: -1000, description: 'Ten dollars off', discount_code: 'TEN-OFF',
    discount_engine: 'page', external_id: 'ten-off-1',
  }
  for (let isAdded = false, tries = 0; !isAdded && tries < 2; tries++) {
    const sent = send('POST', `/v2/carts/${id}/custom-discounts`, { data: [discount] })
    isAdded = await sent.then(() => true, () => false)
  }
  const { carts } = await send('GET', '/_store/carts')
  const n = carts.find((cart) => cart.id === id).discounts.length
  return `The cart ${id} has the discount ${n === 1 ? 'once' : `${n} times`}.`
}

/** Copies the text before a button, or selects it where the browser copies nothing: without HTTPS, from afar. */
async function copy(button) {
  const code = button.previousElementSibling
  const isCopied = await navigator.clipboard?.writeText(code.textContent).then(() => true, () => false)
  if (!isCopied) getSelection().selectAllChildren(code)
  button.textContent = isCopied ? 'Copied' : 'Press Ctrl+C'
  report(`${button.textContent}${button.ariaLabel.replace('Copy', isCopied ? ':' : ' to copy')}.`)
  setTimeout(() => { button.textContent = 'Copy' }, 2000)
}

const on = (id, event, listener) => $(id).addEventListener(event, listener)

/** Sends what a form has when it is submitted. The form has a place for an error. */
function onSubmit(id, path, bodyOf, message) {
  on(id, 'submit', (event) => {
    event.preventDefault()
    const body = bodyOf(Object.fromEntries(new FormData(event.target)))
    run(() => send('POST', path, body), message, event.target.querySelector('.error'))
  })
}

on('requests', 'click', ({ target }) => target.closest('li') && choose(target.closest('li')))
on('requests', 'keydown', (event) => {
  const rows = [...$('requests').children]
  const at = rows.indexOf(event.target)
  const page = Math.max(1, Math.floor($('requests').clientHeight / event.target.offsetHeight) - 1)
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -at, End: rows.length }[event.key]
  if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  const row = rows[Math.min(Math.max(at + by, 0), rows.length - 1)]
  row.focus()
  choose(row)
})
on('filter', 'input', () => {
  filter = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean)
  renderRequests()
})
on('newest', 'change', renderRequests)
on('connect', 'click', ({ target }) => target.matches('button') && copy(target))
on('lose', 'click', () => run(() => send('POST', '/_store/faults', { operation: 'add', apply: true, cut: true }),
  'A fault was added: a request that adds discounts takes effect, and its response is lost.'))
on('retry', 'click', () => run(addAndRetry))
on('reset', 'click', () => {
  $('confirm-reset').returnValue = ''
  $('confirm-reset').showModal()
})
on('confirm-reset', 'close', ({ target }) => target.returnValue &&
  run(() => send('POST', '/_store/reset'), 'The store was reset.'))
on('clear-faults', 'click', () => run(() => send('DELETE', '/_store/faults'), 'The faults were removed.'))
on('clear-stubs', 'click', () => run(() => send('DELETE', '/_store/stubs'), 'The stubs were removed.'))
on('namespace', 'change', ({ target }) => { location.hash = new URLSearchParams({ namespace: target.value }) })
addEventListener('hashchange', () => show().catch(({ message }) => report(message)))
for (const part of document.querySelectorAll('.start')) {
  part.addEventListener('toggle', () => part.open === isUsed && part.classList.add('chosen'))
}
// What an empty field does not say has a default.
const numberOf = (text) => text ? Number(text) : undefined
onSubmit('add-fault', '/_store/faults', ({ times, status, delay, body, path, cart, header, text, ...members }) => {
  const [, name, value] = header.match(/^([^:]*):?(.*)$/)
  const match = { path, cart, body: text, header: header ? { [name.trim()]: value.trim() } : undefined }
  return {
    operation: members.operation, times: numberOf(times), always: !times, apply: 'apply' in members,
    late: 'late' in members, cut: 'cut' in members, status: 'cut' in members ? undefined : numberOf(status),
    delay: delay || undefined, body: body || undefined,
    match: path || cart || text || header ? match : undefined,
  }
}, 'The fault was added.')
onSubmit('add-stub', '/_store/stubs', (members) => ({ ...members, status: numberOf(members.status) }),
  'The stub was added.')

await show()
const { components } = await send('GET', '/_store')
const { operation } = components.schemas.Fault.properties
$('add-fault').elements.operation.append(...operation.enum.map((value) => make('option', { value }, value || 'all')))
