// What a page has for readers to copy: a test fails if nobody runs one of these.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, test } from 'node:test'

const fence = /^ *```(\w*)\n([^]*?)^ *```$/gm, span = /`([^`\n]+)`/g

/** Returns the blocks of a page, with their language, and then what is between backquotes. It refuses other code. */
export function snippetsOf(page) {
  const fences = [...page.matchAll(fence)].map(([, language, text]) => `${language}\n${text}`)
  const prose = page.replaceAll(fence, '')
  const [other] = prose.replaceAll(span, '').match(/^.*(`|~~~|<(pre|code|kbd|samp)\b).*|^( {4}|\t).*/im) ?? []
  assert.equal(other, undefined, 'nobody runs code of this form')
  return [...fences, ...new Set([...prose.matchAll(span)].map(([, text]) => text))]
}

/** A word, a name of a file or of a package: nothing that can be run. */
const name = /^(\w|@|\.\w)[\w./-]*$/

/** Reports whether one of the sources has a name as a whole. */
export const isNamed = (name, sources) => {
  const whole = new RegExp(`(?<![\\w-])${name.replaceAll(/[./]/g, '\\$&')}(?![\\w-])`)
  return sources.some((source) => whole.test(source))
}

/**
 * Makes a test for each snippet of a page. runners are pairs of a pattern, and of a function that runs what fits it; it
 * is called twice at a time, with what the pattern found, and 0 or 1. A name must be in one of the sources.
 */
export function testPage(url, runners, sources) {
  for (const snippet of snippetsOf(readFileSync(url, 'utf8'))) {
    test(snippet.slice(0, 100), async () => {
      const [pattern, run] = runners.find(([pattern]) => pattern.test(snippet)) ?? []
      if (run) return Promise.all([0, 1].map((process) => run(snippet.match(pattern), process)))
      assert.match(snippet, name, 'nobody runs this')
      assert.ok(isNamed(snippet, sources), 'nobody knows this name')
    })
  }
}

/** Returns a port of this machine that is free. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

const children = []
after(() => children.forEach((child) => child.kill('SIGKILL'))) // those of tests that failed

/** Runs a command that serves a store, at another port than 8080, until it responds. */
export async function startPrinted(command, options) {
  const port = await freePort()
  const child = spawn('/bin/bash', ['-c', command.replaceAll(':8080', `:${port}`)], options)
  children.push(child)
  const store = { port, child, stdout: '', stderr: '', isOver: false }
  for (const name of ['stdout', 'stderr']) child[name].on('data', (text) => { store[name] += text })
  const ended = once(child, 'close').finally(() => { store.isOver = true })
  store.isHealthy = () => fetch(`http://127.0.0.1:${port}/_store/health`).then(({ ok }) => ok, () => false)
  store.stop = async () => {
    child.kill()
    await ended
    assert.ok(!await store.isHealthy(), `${command} is not ended by kill`)
  }
  while (!await store.isHealthy()) {
    assert.ok(!store.isOver, `${command} ended: ${store.stderr}`)
    await new Promise((resolve) => { setTimeout(resolve, 50) })
  }
  return store
}
