// Starts Firefox without a window, and drives one tab by Marionette, the protocol that it has itself:
// JSON over TCP, with its length before it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

// All names are this machine, so it reaches no other.
const preferences = {
  'marionette.port': 0, 'network.dns.forceResolve': '127.0.0.1', 'network.proxy.type': 0,
  'app.normandy.enabled': false, 'datareporting.policy.dataSubmissionEnabled': false,
  'devtools.jsonview.enabled': false, // a page that has the origin of what it shows
}

/** Starts a program of Firefox, with the methods of a page of Playwright that lost.test.mjs uses. */
export async function startFirefox(program) {
  const profile = await mkdtemp(path.join(tmpdir(), 'commerce-firefox-'))
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`)
  await writeFile(path.join(profile, 'user.js'), lines.join(''))
  const child = spawn(program, ['--headless', '--no-remote', '--marionette', '--profile', profile], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  process.on('exit', () => child.kill('SIGKILL'))

  let port
  while (!port && child.exitCode === null) {
    port = Number(await readFile(path.join(profile, 'MarionetteActivePort'), 'utf8').catch(() => 0))
    await sleep(50)
  }
  const socket = connect(port, '127.0.0.1')
  const messages = readMessages(socket)
  await messages.next() // it names the protocol
  let number = 0
  const send = async (command, parameters = {}) => {
    const text = JSON.stringify([0, ++number, command, parameters])
    socket.write(`${Buffer.byteLength(text)}:${text}`)
    const [, , error, result] = (await messages.next()).value
    if (error) throw new Error(error.message)
    return result
  }
  const { capabilities } = await send('WebDriver:NewSession', { acceptInsecureCerts: true })
  return {
    version: () => capabilities.browserVersion,
    async open(url) {
      await this.goto(url)
      return this
    },
    goto: (url) => send('WebDriver:Navigate', { url }),
    async evaluate(f, arg) {
      const script = `const [arg, done] = arguments; Promise.resolve(arg).then(${f}).then(done)`
      return (await send('WebDriver:ExecuteAsyncScript', { script, args: [arg ?? null] })).value
    },
    async close() {
      await send('Marionette:Quit', { flags: ['eForceQuit'] })
      await ended
      socket.destroy()
      await rm(profile, { recursive: true, force: true })
    },
  }
}

async function* readMessages(socket) {
  let rest = Buffer.alloc(0)
  for await (const data of socket) {
    rest = Buffer.concat([rest, data])
    for (;;) {
      const start = rest.indexOf(':') + 1
      const end = start + Number(rest.subarray(0, start - 1))
      if (start === 0 || rest.length < end) break
      yield JSON.parse(rest.subarray(start, end))
      rest = rest.subarray(end)
    }
  }
}
