// The page of epcommerce serve. All that it shows is set as text.

const shown = 200 // requests in the list
const $ = (id) => document.getElementById(id)
const requests = new Map() // by id, the oldest first
let all = [] // namespaces
let namespace // of what the page shows
let stream // aborts the events of it
let selected = ''
let faults = []

/** Makes an element with properties and with children, which are elements or texts. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}

/** Sends a request to the control of the store. Returns what it responds with. */
async function control(method, path, body) {
  const response = await fetch(`/_store${path}`, {
    method, body: body && JSON.stringify(body),
    headers: namespace ? { Authorization: `Bearer ${namespace.token}` } : {},
  })
  const text = await response.text()
  if (!response.ok) throw new Error(JSON.parse(text).errors[0].detail)
  return text && JSON.parse(text)
}

/** Runs what a click or an event asks for, and says how it went. */
async function run(work, message = '') {
  try {
    report({ message: (await work()) || message })
  } catch (error) {
    report(error)
  }
}

function report({ message }) {
  $('message').textContent = message
}

/** Describes the outcome of a request by a text and a class. */
function outcome({ status, fault }) {
  const kind = status === 0 || status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'ok'
  return [status === 0 ? 'lost' : String(status), fault ? 'fault' : kind]
}

function row(request) {
  const [text, kind] = outcome(request)
  const button = make('button', { type: 'button', onclick: () => select(request.id) },
    make('span', { className: `outcome ${kind}` }, text + (request.fault ? ' ⚡' : '')),
    make('span', { className: 'method' }, request.method),
    make('span', { className: 'path', title: request.path }, `${request.operation} ${request.path}`))
  return make('li', { id: request.id }, button)
}

function addRequest(request) {
  const before = $(request.id)
  const follows = !selected || selected === $('requests').firstChild?.id // the newest is shown
  requests.set(request.id, request)
  if (before) before.replaceWith(row(request))
  else $('requests').prepend(row(request))
  while (requests.size > shown) {
    const [oldest] = requests.keys()
    requests.delete(oldest)
    $(oldest)?.remove()
  }
  if (follows || selected === request.id) select(request.id)
}

function select(id) {
  $(selected)?.firstChild.removeAttribute('aria-current')
  const request = requests.get(id)
  selected = request ? id : ''
  $('change').hidden = !request?.after
  for (const part of ['request', 'response', 'fault']) $(part).textContent = ''
  $('detail-title').textContent = request ? `${request.method} ${request.path}` : 'Select a request'
  if (!request) return
  $(id).firstChild.setAttribute('aria-current', 'true')
  const [text] = outcome(request)
  const json = (value) => JSON.stringify(value, null, 1)
  const show = (body) => (body ? json(body) : 'no JSON')
  const lines = (values) => Object.entries(values).map(([name, list]) => `${name}: ${list.join(', ')}\n`).join('')
  $('request').textContent = `${lines(request.query)}${show(request.body)}\n\n${lines(request.header)}`
  $('response').textContent = `${text} after ${request.duration_ms} ms\n${show(request.response)}`
  const fault = faults.find(({ number }) => number === request.fault)
  $('fault').textContent = request.fault ? `number ${request.fault}\n${fault ? json(fault) : 'removed'}` : 'none'
  if (!request.after) return
  $('before').replaceChildren(...discounts(request.before))
  $('after').replaceChildren(...discounts(request.after))
}

/** Returns list items for the discounts of a cart. One that is there twice stands out. */
function discounts(cart) {
  const key = (d) => `${d.discount_engine} ${d.external_id}`
  return cart.discounts.map((d) => {
    const twice = cart.discounts.filter((other) => key(other) === key(d)).length > 1
    return make('li', { className: twice ? 'twice' : '' },
      `${key(d)}: ${d.amount.formatted || d.amount.amount}${twice ? ', twice' : ''}`)
  })
}

function showNamespaces(namespaces) {
  const isSame = String(namespaces.map(({ name }) => name)) === String(all.map(({ name }) => name))
  all = namespaces
  if (isSame) return
  const { value } = $('namespace')
  $('namespace').replaceChildren(...all.map(({ name }) => make('option', { selected: name === value }, name)))
}

function table(id, list) {
  $(id).replaceChildren(...list.map((cells) => make('tr', {}, ...cells.map((cell) => make('td', {}, cell)))))
}

/** Reads again what a request may have changed. */
async function refresh() {
  const paths = ['/faults', '/carts', '/subscriptions', '/namespaces']
  const [f, c, s, { namespaces }] = await Promise.all(paths.map((path) => control('GET', path)))
  showNamespaces(namespaces)
  faults = f.faults
  table('faults', faults.map((fault) => [
    String(fault.number), fault.operation || 'all',
    [fault.cut ? 'no response' : '', fault.status || '', fault.late ? 'late' : '', fault.apply ? 'takes effect' : '']
      .filter(Boolean).join(', ') || 'changed',
    String(fault.met), fault.left < 0 ? 'all' : String(fault.left),
  ]))
  table('carts', c.carts.map((cart) => [cart.id, String(cart.items.length), make('ul', {}, ...discounts(cart))]))
  table('subscriptions', s.subscriptions.map((sub) => [sub.external_ref, sub.email, sub.state, sub.currency, sub.id]))
  if (selected) select(selected) // its fault is known now
}

/** Calls refresh in a while: a test may send thousands of requests. */
let due
function refreshSoon() {
  due ??= setTimeout(() => { due = undefined; refresh().catch(report) }, 200)
}

function clear() {
  requests.clear()
  $('requests').replaceChildren()
  select('')
}

/** Shows a namespace, and follows its events until another one is chosen. */
async function follow() {
  stream?.abort()
  const mine = stream = new AbortController()
  while (!mine.signal.aborted) {
    try {
      const response = await fetch('/_store/events', {
        signal: mine.signal, headers: { Authorization: `Bearer ${namespace.token}` },
      })
      if (!response.ok) throw new Error(`The namespace is refused with status ${response.status}`)
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      clear()
      const { requests: list } = await control('GET', '/requests') // events wait meanwhile
      list.slice(-shown).forEach(addRequest)
      await refresh()
      report({ message: '' })
      for (let rest = ''; ;) {
        const { done, value } = await reader.read()
        if (done) break
        const events = (rest + value).split('\n\n')
        rest = events.pop()
        events.forEach(handle)
      }
      report({ message: 'The store has ended. Trying again.' })
    } catch (error) {
      if (mine.signal.aborted) return
      report({ message: `${error.message}. Trying again.` })
    }
    await new Promise((resolve) => { setTimeout(resolve, 1000) })
  }
}

function handle(event) {
  const [, name, data] = event.match(/^event: (\w+)\ndata: (.*)$/) ?? []
  if (name === 'request') addRequest(JSON.parse(data))
  if (name === 'cleared') clear()
  if (name) refreshSoon()
}

/** What a simple client does: it adds a discount, and tries again after an error. */
async function addAndRetry() {
  const cart = await control('POST', '/carts', {})
  const discount = {
    type: 'custom_discount', amount: -1000, description: 'Ten dollars off', discount_code: 'TEN-OFF',
    discount_engine: 'page', external_id: 'ten-off-1',
  }
  for (let tries = 1; tries <= 2; tries++) {
    const sent = fetch(`/v2/carts/${cart.id}/custom-discounts`, {
      method: 'POST', body: JSON.stringify({ data: [discount] }),
      headers: { Authorization: `Bearer ${namespace.token}`, 'Content-Type': 'application/json' },
    })
    if ((await sent.catch(() => ({ ok: false }))).ok) break
  }
  const { carts } = await control('GET', '/carts')
  const n = carts.find(({ id }) => id === cart.id).discounts.length
  return `The cart ${cart.id} has the discount ${n === 1 ? 'once' : `${n} times`}.`
}

$('requests').addEventListener('keydown', (event) => {
  const to = { ArrowDown: 'nextSibling', ArrowUp: 'previousSibling' }[event.key]
  const next = to && event.target.closest('li')[to]
  if (!next) return
  event.preventDefault()
  next.firstChild.focus()
  select(next.id)
})
$('lose').addEventListener('click', () => run(
  () => control('POST', '/faults', { operation: 'add', apply: true, cut: true }),
  'The next request that adds discounts takes effect, and its response is lost.',
))
$('retry').addEventListener('click', () => run(addAndRetry))
$('reset').addEventListener('click', () => run(() => control('POST', '/reset'), 'The store is as it was at the start.'))
$('clear').addEventListener('click', () => run(() => control('DELETE', '/faults'), 'There are no faults.'))
$('add-fault').addEventListener('submit', (event) => {
  event.preventDefault()
  const { operation, status, times, apply, cut } = event.target.elements
  run(() => control('POST', '/faults', {
    operation: operation.value, times: Number(times.value), apply: apply.checked,
    ...(cut.checked ? { cut: true } : { status: Number(status.value) }),
  }), 'The fault waits for requests.')
})
$('namespace').addEventListener('change', () => {
  namespace = all.find(({ name }) => name === $('namespace').value)
  follow()
})

showNamespaces((await control('GET', '/namespaces')).namespaces)
namespace = all[0]
const { components } = await control('GET', '')
const { operation } = components.schemas.Fault.properties
$('add-fault').elements.operation.append(...operation.enum.map((value) => make('option', { value }, value || 'all')))
follow()
