// What a page has for readers to copy: a test fails if nobody runs one of these.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'

/** Returns the blocks of a page, with their language, and then what is between backquotes. */
export function snippetsOf(page) {
  const fences = [...page.matchAll(/^ *```(\w*)\n([^]*?)^ *```$/gm)].map(([, language, text]) => `${language}\n${text}`)
  const spans = page.replaceAll(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`\n]+)`/g)
  return [...fences, ...new Set([...spans].map(([, text]) => text))]
}

/** A word, a name of a file or of a package: nothing that can be run. */
const name = /^(\w|@|\.\w)[\w./-]*$/

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
      assert.ok(sources.some((source) => source.includes(snippet)), 'nobody knows this name')
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

/** Runs a command that serves a store, at another port than 8080, until it responds. Returns what stops it. */
export async function startPrinted(command, options) {
  const address = `127.0.0.1:${await freePort()}`
  const child = spawn('/bin/bash', ['-c', command.replace('127.0.0.1:8080', address)], { detached: true, ...options })
  let log = ''
  child.stderr.on('data', (text) => { log += text })
  const ended = once(child, 'close')
  let isOver = false
  ended.then(() => { isOver = true }, () => { isOver = true })
  const health = () => fetch(`http://${address}/_store/health`).catch(() => ({}))
  while (!(await health()).ok) {
    assert.ok(!isOver, `${command} ended: ${log}`)
    await new Promise((resolve) => { setTimeout(resolve, 50) })
  }
  return { address, child, health, async stop() {
    child.kill()
    await ended
    assert.equal((await health()).ok, undefined, `${command} is not ended by kill`)
  } }
}
