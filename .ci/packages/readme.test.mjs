// Runs all that README.md of the npm package shows, in the empty folder APP, with the files of dist/npm and without Go.
// npm has a registry that logs requests: there must be none.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { startPrinted, testPage } from '../serve-tests/snippets.mjs'

const { APP, PATH } = process.env
const at = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const env = { PATH, HOME: path.join(APP, 'home') }
const requests = []

const registry = http.createServer((request, response) => {
  requests.push(`${request.method} ${request.url}`)
  response.writeHead(404).end('{}')
}).on('connect', (request, socket) => {
  requests.push(`CONNECT ${request.url}`)
  socket.destroy()
})

before(async () => {
  await once(registry.listen(0, '127.0.0.1'), 'listening')
  const address = `http://127.0.0.1:${registry.address().port}/`
  for (const name of ['registry', 'proxy', 'https_proxy']) env[`npm_config_${name}`] = address
  env.npm_config_update_notifier = 'false' // once a week, any command asks for the name npm
  writeFileSync(path.join(APP, 'package.json'), '{}')
  cpSync(at('dist/npm'), APP, { recursive: true })
})
after(() => registry.close())

/** Runs a command in the folder of the app, or another one, and returns what it prints. */
async function run(command, cwd = APP) {
  const { stdout, stderr } = await promisify(execFile)('/bin/bash', ['-c', command], { cwd, env })
  return stdout + stderr
}

let install
const platform = `${process.platform}-${process.arch}`

/** Installs the files of this system and of another one, in a folder of its own. */
async function installAll(process) {
  const folder = path.join(APP, `systems${process}`), other = path.join(folder, 'other')
  cpSync(at('dist/npm'), folder, { recursive: true })
  mkdirSync(other)
  writeFileSync(path.join(folder, 'package.json'), '{}')
  writeFileSync(path.join(other, 'package.json'), JSON.stringify({ name: 'other', version: '1.0.0', os: ['aix'] }))
  await run(`${install.replace('--save-dev', '--save-optional')} ./other`, folder)
  assert.ok(!existsSync(path.join(folder, 'node_modules/other')))
  assert.match(await run('./node_modules/.bin/epcommerce version', folder), /^epcommerce /)
}

/** Runs a test in Jest, with its default settings. */
async function jest(line, process) {
  const name = `jest${process}.test.js`
  writeFileSync(path.join(APP, name), `${line}
let server
beforeAll(async () => { server = await startStore() })
afterAll(() => server.stop())
test('a cart', async () => {
  const store = await server.namespace()
  const { id } = await store.cart({ items: [{ price: 0 }] })
  expect((await store.carts()).map((cart) => cart.id)).toContain(id)
  await store.stop()
})
`)
  assert.match(await run(`node ${at('.ci/serve-tests/node_modules/jest/bin/jest.js')} ${name}`), /Tests: +1 passed/)
}

const sources = ['package.json', 'index.js', 'index.d.ts', 'store.d.ts']
const readme = at('cmd/epcommerce/npm/README.md')
testPage(readme, [
  [/^sh\n(npm install .*)\n$/, async ([, command], process) => {
    if (process === 0) await run(install = command.replace('linux-x64', platform)) // two of npm must not share a folder
  }],
  [/^js\n\/\/ (\S+)\n[^]*/, async ([text, name]) => {
    writeFileSync(path.join(APP, name), text.slice('js\n'.length))
    assert.match(await run(`node --test ${name}`), /# pass 1\n# fail 0/)
  }],
  [/^node --test$/, async ([command]) => assert.match(await run(command), /# pass \d+\n# fail 0/)],
  [/^const .* = require\(.*\)$/, ([line], process) => jest(line, process)],
  [/^--save-optional$/, (_, process) => installAll(process)],
  [/^--save-dev$/, () => assert.match(install, /--save-dev/)],
  [/^\S+ serve --addr \S+$/, async ([command]) => (await startPrinted(command, { cwd: APP, env })).stop()],
  [/^startStore\(\{ url, token \}\)$/, async ([call]) => {
    const program = `import { startStore } from '@epcommerce/fake-store'
      const server = await startStore(), { url, token } = await server.namespace(), store = await ${call}
      console.log(store.url === url && store.token === token)
      await server.stop()`
    assert.equal(await run(`node --input-type=module -e '${program.replaceAll("'", '"')}'`), 'true\n')
  }],
  [/^make (\S+)$/, ([, target]) => assert.match(readFileSync(at('Makefile'), 'utf8'), new RegExp(`^${target}:`, 'm'))],
  [/^(dist|docs)\/\S+$/, ([file]) => assert.ok(existsSync(at(file)))],
], sources.map((name) => name + readFileSync(at(`cmd/epcommerce/npm/${name}`))))

test('npm sent no request', () => assert.deepEqual(requests, []))

test('README.md and package.json name the same Node.js', () => {
  const [, version] = readFileSync(readme, 'utf8').match(/Node\.js (\S+) or later/)
  assert.equal(JSON.parse(readFileSync(at('cmd/epcommerce/npm/package.json'))).engines.node, `>=${version}`)
})
