// All that docs/tool-serve.md and epcommerce serve print for a user to copy does what they say, in two processes at a
// time. Only ports are others.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse } from 'yaml'

import { newControl, startStore } from '../vendor-clients/store.mjs'
import { startPrinted, testPage } from './snippets.mjs'

// Programs are not tests of this one.
const { NODE_TEST_CONTEXT, EPCOMMERCE, PYTHON = 'python3', ...inherited } = process.env
const env = { ...inherited, PATH: `${path.dirname(EPCOMMERCE)}:${process.env.PATH}`, NO_PROXY: '*' }
const repository = fileURLToPath(new URL('../..', import.meta.url))
const at = (name) => path.join(repository, name)
const here = (name) => readFileSync(new URL(name, import.meta.url), 'utf8')
const page = new URL('../../docs/tool-serve.md', import.meta.url)

let store, secure, folder, first
before(async () => {
  store = await startStore(EPCOMMERCE, '--token', 'first')
  secure = await startStore(EPCOMMERCE, '--tls')
  first = newControl(store.values.address, 'first')
  folder = await mkdtemp(path.join(tmpdir(), 'commerce-docs-'))
  await symlink(at('.ci/vendor-clients/node_modules'), path.join(folder, 'node_modules'))
})
after(async () => {
  await store.stop()
  await secure.stop()
  await rm(folder, { recursive: true })
})

/** Runs a command of a shell, and returns what it prints. */
async function run(command, options) {
  const { stdout, stderr } = await promisify(execFile)('/bin/bash', ['-c', command], { cwd: folder, env, ...options })
  return stdout + stderr
}

/** Writes a file, with the address of the store. */
function write(name, text) {
  writeFileSync(path.join(folder, name), text.replaceAll('127.0.0.1:8080', new URL(store.values.address).host))
}

/** Writes a file of the page, which is one of the files here that other tests use. */
function writeShared([, text, name]) {
  assert.equal(text, here(name), `${name} of the page is another one`)
  write(name, text)
}

/** Runs a test with a fault that nobody meets, and one with a client that does not look first: they must fail. */
async function runMistakes(command, name, text, unmet, careless) {
  const shop = `shop${path.extname(name)}`
  const failure = () => run(`${command} ${name}`).then(() => 'no test failed', ({ stdout }) => stdout)
  write(name, text.replace(...unmet))
  assert.ok((await failure()).match(/fault 1 was not met: .*"items"/g)?.length >= 2)
  write(name, text)
  write(shop, careless(here(shop)))
  assert.match(await failure(), /# fail 2|2 failed/)
  write(shop, here(shop))
}

async function runJavaScript([, text, name]) {
  write('shop.mjs', here('shop.mjs'))
  write(name, text)
  assert.match(await run(`node --test ${name}`), /# pass 2\n# fail 0/)
}

async function runPython([, text, name]) {
  write('shop.py', here('shop.py'))
  write(name, text)
  assert.match(await run(`${PYTHON} -m pytest ${name}`), /2 passed/)
}

const image = readFileSync(at('.ci/packages/image.go'), 'utf8')
const entryPoint = image.match(/Entrypoint: \[\]string\{"\/(.*)"\}/)[1].replaceAll('", "', ' ')

/** Runs the services of a compose file without their containers. */
async function runCompose([, text]) {
  const { store, tests } = parse(text).services
  const { version } = JSON.parse(readFileSync(at('cmd/epcommerce/npm/package.json'), 'utf8'))
  assert.equal(store.image, `${image.match(/imageName = "(.*)"/)[1]}:${version}`)
  const local = { env: { ...env, STORE_TOKEN: 'secret' } }
  const started = await startPrinted([entryPoint, ...store.command].join(' '), local)
  const onPort = (line) => line.replaceAll(':8080', `:${started.port}`)
  const [, program, ...args] = store.healthcheck.test
  assert.match(await run(onPort([program.slice(1), ...args].join(' ')), local), /accepts requests/)
  const { STORE, STORE_TOKEN } = tests.environment
  const { host } = new URL(onPort(STORE))
  const headers = { host, authorization: 'Bearer secret' }
  const [response] = await once(http.get({ port: started.port, path: '/_store/namespaces', headers }), 'response')
  assert.equal(response.resume().statusCode, 200)
  const address = onPort(STORE).replace('store', '127.0.0.1')
  const variables = `STORE=${address} STORE_TOKEN=${STORE_TOKEN}`
  assert.match(await run(`${variables} node --test discounts.test.mjs`, local), /# pass 2\n/)
  await started.stop()
}

const discount = {
  type: 'custom_discount', amount: -1000, description: 'd', discount_code: 'c', discount_engine: 'e', external_id: 'x',
}
const bodies = {
  '/_store/faults': { status: 503 },
  '/_store/stubs': { method: 'GET', path: '/v2/returns/{id}' },
  '/v2/carts/{cart}/custom-discounts': { data: [discount] },
}

/** Adds a namespace, and returns it with a function that sends it a request. */
async function namespace() {
  const added = await first('POST', 'namespaces')
  const headers = { Authorization: `Bearer ${added.token}`, 'Content-Type': 'application/json' }
  const send = (method, path, body) => fetch(store.values.address + path.replace('{cart}', added.cart),
    { method, headers, body: JSON.stringify(body) })
  return { ...added, send }
}

async function runRequest([, method = 'GET', path]) {
  const { send } = await namespace()
  await send('GET', '/v2/settings') // a wait must have one
  const response = await send(method, path, method === 'POST' ? bodies[path] ?? {} : undefined)
  assert.ok(response.ok, `${method} ${path}: ${response.status}`)
  await response.body?.cancel()
}

/** Injects a fault: a request must meet it. */
async function runFault([members]) {
  const { send } = await namespace()
  assert.equal((await send('POST', '/_store/faults', JSON.parse(`{${members}}`))).ok, true)
  await send('GET', '/v2/settings').catch(() => {})
  await send('GET', '/_store/wait?pending=0')
  assert.equal((await send('GET', '/_store/verify')).ok, true)
}

async function runFlags([flags, name, value]) {
  assert.match(await run('epcommerce serve --help'), new RegExp(`^ +--${name} `, 'm'))
  if (!value) return
  const started = await startPrinted(`epcommerce serve --addr 127.0.0.1:8080 ${flags}`, { env })
  const response = await fetch(`http://127.0.0.1:${started.port}/v2/settings`, { headers: { Origin: value } })
  assert.equal(response.headers.get('access-control-allow-origin'), value)
  await started.stop()
}

/** Trusts the certificate of a store, and not what is no certificate. */
async function runTrust(text, program) {
  const { address, certificate } = secure.values
  const command = (file) => `${text.replace(/FILE$/, file)} ${program.replace('ADDRESS', address)}`
  await assert.rejects(run(command('/dev/null')), ({ stdout, stderr }) => /certificate/i.test(stdout + stderr))
  await run(command(certificate))
}

let waiting
/** Ends when both processes have come. */
function meet() {
  if (!waiting) return new Promise((resolve) => { waiting = resolve })
  waiting = waiting()
}

/** Uses the vendor's SDK in both processes by turns: each has its own token, and gets it once. */
async function runSDK([call], process) {
  const { client_id, client_secret, send } = await namespace()
  write('sdk.mjs', `import { gateway, MemoryStorageFactory } from '@elasticpath/js-sdk'
    const [client_id, client_secret] = process.argv.slice(2)
    const client = ${call}
    process.stdin.on('data', async () => console.log((await client.Subscriptions.Limit(2).All()).data.length))`)
  const child = execFile('node', ['sdk.mjs', client_id, client_secret], { cwd: folder, env, timeout: 60_000 })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  for (let i = 0; i < 5; i++) {
    await meet()
    child.stdin.write('next\n')
    let line
    do line = await lines.next()
    while (!line.done && line.value !== '2')
    assert.equal(line.value, '2')
  }
  child.stdin.end()
  await once(child, 'close')
  const { requests } = await (await send('GET', '/_store/requests')).json()
  assert.deepEqual(requests.map(({ operation }) => operation), ['token', ...Array(5).fill('list')])
}

/** Kills go run: the store runs on. It is in the same group of processes. */
async function runGoRun([command]) {
  const options = { cwd: at('cmd/epcommerce'), env, detached: true }
  const { child, isHealthy } = await startPrinted(`${command} . serve --addr 127.0.0.1:8080`, options)
  const ended = once(child, 'close')
  child.kill()
  await once(child, 'exit')
  const survived = await isHealthy()
  process.kill(-child.pid)
  await ended
  assert.ok(survived, 'the store has ended')
}

const help = await promisify(execFile)(EPCOMMERCE, ['serve', '--help'])
const openapi = await promisify(execFile)(EPCOMMERCE, ['serve', '--openapi'])
testPage(page, [
  [/^js\n(\/\/ (store.mjs): [^]*)/, writeShared],
  [/^python\n(# (conftest.py): [^]*)/, writeShared],
  [/^js\n(\/\/ (discounts.test.mjs)\n[^]*)/, runJavaScript],
  [/^python\n(# (test_discounts.py)\n[^]*)/, runPython],
  [/^yaml\n([^]*)/, runCompose],
  [/^epcommerce serve .*$/, async ([command]) => (await startPrinted(command, { env })).stop()],
  [/^serve .*$/, ([flags]) => assert.equal(`epcommerce ${flags}`, entryPoint)],
  [/^go -C \S+ install \.$/, ([command], process) => run(command, {
    cwd: repository, env: { ...env, GOBIN: path.join(folder, `bin${process}`) },
  })],
  [/^go run$/, runGoRun],
  [/^node --test$/, async ([command]) => assert.match(await run(command), /# pass 2\n/)],
  [/^gateway\(.*\)$/, runSDK],
  [/^(GET|POST|DELETE) (\/\S+)$/, runRequest],
  [/^()(\/_store\S*)$/, ([, , path]) => runRequest([, 'GET', path])],
  [/^(\w+=\d+)$/, ([query]) => runRequest([, 'GET', `/_store/wait?${query}`])],
  [/^"\w+":.*$/, runFault],
  [/^\{\}$/, () => runRequest([, 'POST', '/_store/carts'])],
  [/^--([a-z-]+)(?: (\S+))?$/, runFlags],
  [/^NODE_\w+=FILE$/, ([text]) => runTrust(text, "node -e 'fetch(`ADDRESS`)'")],
  [/^SSL_\w+=FILE$/, async ([text]) => {
    await runTrust(text, `${PYTHON} -c 'from urllib import request; request.urlopen("ADDRESS")'`)
    await runTrust(text, 'COMMERCE_BASE_URL=ADDRESS COMMERCE_TOKEN=commercetest-token epcommerce doctor')
  }],
  [/^curl .*FILE$/, ([text]) => runTrust(text, '-sS ADDRESS')],
  [/^[\d.]+ \* \d+$/, async ([amount]) => {
    const { send } = await namespace(), data = [{ ...discount, amount: -(await run(`node -p '${amount}'`)) }]
    assert.equal((await send('POST', '/v2/carts/{cart}/custom-discounts', { data })).ok, false)
  }],
  [/^\.ci\/\S+$/, ([name]) => assert.ok(existsSync(at(name)))],
], [http.METHODS.join(' '), help.stdout, openapi.stdout])

test('a test with a mistake fails', async () => {
  const text = readFileSync(page, 'utf8')
  const find = (start) => text.slice(text.indexOf(start)).split('```')[0]
  await runMistakes('node --test', 'discounts.test.mjs', find('// discounts.test.mjs'),
    ["operation: 'add'", "operation: 'items', always: true"],
    (shop) => shop.replace('=== id', '=== url').replace('throw new', 'return new'))
  await runMistakes(`${PYTHON} -m pytest`, 'test_discounts.py', find('# test_discounts.py'),
    ['"operation": "add"', '"operation": "items", "always": True'],
    (shop) => shop.replace('"] == external_id', '"] == url').replace('raise RuntimeError', 'RuntimeError'))
})

test('what epcommerce serve prints', async () => {
  const started = await startPrinted('epcommerce serve --addr 127.0.0.1:8080', { env })
  const isCommand = (line, i, all) => line && i > all.indexOf('') && !/^[A-Z][\w ,]*:$/.test(line)
  const lines = started.stdout.split('\n').filter(isCommand)
  assert.ok(lines.length >= 3)
  for (const line of lines) {
    for (const text of await Promise.all([run(line), run(line)])) {
      const { errors, data } = JSON.parse(text)
      assert.equal(errors, undefined, text)
      if (line.includes('/subscriptions?')) assert.equal(data.length, 2, 'it says: two in a page')
    }
  }
  await started.stop()
})

test('the examples of its help', async () => {
  const [, examples] = help.stdout.match(/^Examples:\n((?: {2}.*\n)+)/m)
  for (const line of examples.trim().split('\n')) {
    const stores = await Promise.all([0, 1].map(() => startPrinted(`${line} --addr 127.0.0.1:8080`, { env })))
    await Promise.all(stores.map((started) => started.stop()))
  }
})
