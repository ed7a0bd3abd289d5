// Starts a fake store for tests, or uses one that runs, and drives it. README.md shows how.

'use strict'

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const { accessSync, chmodSync, constants, readFileSync } = require('node:fs')
const http = require('node:http')
const https = require('node:https')
const { createInterface } = require('node:readline')
const { text } = require('node:stream/consumers')

exports.startStore = async function startStore({ url, token, args, ...others } = {}) {
  const problem = problemOf(url, token, args, others)
  if (problem) throw new TypeError(`startStore: ${problem}`)
  const isNamed = token !== undefined
  const flags = [...(isNamed ? ['--token', token] : []), ...(args ?? [])]
  if (url === undefined) return startProgram(['--stop-with-stdin', ...flags])
  const { namespaces } = await new Store({ url }, { token }).control('GET', 'namespaces') ?? {}
  if (!Array.isArray(namespaces)) throw new Error(`what responds at ${url} is no store: it lists no namespaces`)
  const namespace = isNamed ? namespaces.find((n) => n.token === token) : namespaces[0]
  return new Store({ url }, namespace, async (store) => {
    for (const list of ['faults', 'stubs', 'requests']) await store.control('DELETE', list)
  })
}

/** Returns what is wrong with options of startStore, if anything. */
function problemOf(url, token, args, others) {
  const isText = (value) => value === undefined || (typeof value === 'string' && value !== '')
  const [unknown] = Object.keys(others)
  if (unknown) return `unknown option "${unknown}"; there are url, token and args`
  for (const [name, value] of Object.entries({ url, token })) {
    if (!isText(value)) return `${name} must be a text that is not empty`
  }
  if (args === undefined) return undefined
  if (!Array.isArray(args)) return 'args must be a list of flags of epcommerce serve'
  return url && 'args are for a store that is started, and url is one that runs'
}

async function startProgram(flags) {
  const child = spawn(findProgram(), ['serve', ...flags], { windowsHide: true })
  const ended = once(child, 'close') // an error if the program cannot be run
  ended.catch(() => {}) // it is awaited later
  let log = ''
  child.stderr.on('data', (part) => { log = (log + part).slice(-4000) })
  const values = {}
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = line.match(/^([a-z ]+): (.+)$/) ?? []
    if (!name) break // commands for curl follow
    values[name.replaceAll(' ', '_')] = value
  }
  child.stdout.resume()
  if (!values.address) {
    await ended
    throw new Error(`the store did not start: ${log.trim() || 'it printed no address'}`)
  }
  // A process that does not stop the store ends nevertheless, and the store with it.
  const handles = [child, child.stdin, child.stdout, child.stderr]
  for (const handle of handles) handle.unref()
  return new Store({ url: values.address, certificate: values.certificate }, values, async () => {
    for (const handle of handles) handle.ref()
    child.stdin.end() // requests in progress have 5 seconds then
    const kill = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await ended
    clearTimeout(kill)
  })
}

function findProgram() {
  if (process.env.EPCOMMERCE) return process.env.EPCOMMERCE
  const name = `${require('./package.json').name}-${process.platform}-${process.arch}`
  let program
  try {
    program = require.resolve(`${name}/epcommerce${process.platform === 'win32' ? '.exe' : ''}`)
  } catch {
    throw new Error(`the package ${name}, with the program for this machine, is missing: install its file too; the ` +
      'variable EPCOMMERCE may name a program instead')
  }
  try {
    accessSync(program, constants.X_OK)
  } catch {
    chmodSync(program, 0o755) // what unpacked the package lost the mode
  }
  return program
}

class Store {
  #free
  #stopped

  constructor({ url, certificate }, namespace, free) {
    this.url = url.replace(/\/$/, '')
    this.certificate = certificate
    this.token = namespace.token
    this.clientId = namespace.client_id
    this.clientSecret = namespace.client_secret
    this.accountToken = namespace.account_token
    this.#free = free
  }

  async control(method, path, body) {
    const sent = JSON.stringify(body, refuseNoNumber)
    const { request } = this.url.startsWith('https:') ? https : http
    const options = { method, agent: false, ca: this.certificate && readFileSync(this.certificate) }
    if (this.token !== undefined) options.headers = { Authorization: `Bearer ${this.token}` }
    const response = await new Promise((resolve, reject) => {
      request(`${this.url}/_store/${path}`, options, resolve).on('error', reject).end(sent)
    }).catch((cause) => {
      throw new Error(`no store responds at ${this.url}: ${cause.message || cause.code}`, { cause })
    })
    const answer = parse(await text(response))
    if (response.statusCode < 300 && answer !== null) return answer
    throw new Error(Array.isArray(answer?.errors) ? answer.errors.map(({ detail, title }) => detail || title).join('\n')
      : `what responds at ${this.url} is no store: ${method} /_store/${path} got a ${response.statusCode}`)
  }

  async cart(fixture) { return this.control('POST', 'carts', fixture) }
  async carts() { return (await this.control('GET', 'carts')).carts }
  async fault(fault) { return (await this.control('POST', 'faults', fault)).number }
  async requests(filter) { return (await this.control('GET', `requests?${queryOf(filter)}`)).requests }
  async wait(filter) { return (await this.control('GET', `wait?${queryOf(filter)}`)).requests }

  async namespace(settings) {
    const namespace = await this.control('POST', 'namespaces', settings)
    return new Store(this, namespace, (store) => store.control('DELETE', 'namespaces'))
  }

  stop() { return this.#stopped ??= this.#checkAndFree() }
  [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() { return this.stop() }

  async #checkAndFree() {
    try {
      await this.control('GET', 'verify')
    } finally {
      await this.#free(this)
    }
  }
}

function queryOf(filter = {}) {
  return new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== undefined))
}

/** Returns the value of a member. JSON has null for NaN and Infinity, which the store takes as absent. */
function refuseNoNumber(name, value) {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw new TypeError(`${name} must be a number, and not ${value}`)
}

/** Returns the value of a JSON text; undefined of an empty one, null if it is no JSON. */
function parse(answer) {
  try {
    return answer ? JSON.parse(answer) : undefined
  } catch {
    return null
  }
}
