// Starts epcommerce serve, and stops it.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * Starts the program with arguments. values holds what it prints, by name: address, client id and
 * so on. stop ends it, and returns the line of standard error that counts what the store holds.
 */
export async function startStore(program, ...args) {
  const child = spawn(program, ['serve', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (text) => { stderr += text })
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  process.on('exit', () => child.kill('SIGKILL'))

  const values = {}
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = line.match(/^([a-z ]+): (.+)$/) ?? []
    if (name) values[name] = value
    if (line === '') break // examples for curl follow
  }
  child.stdout.resume()
  if (!values.address) throw new Error(`epcommerce serve printed no address; exit code ${await ended}: ${stderr}`)

  return {
    values,
    async stop() {
      child.kill('SIGTERM')
      const code = await ended
      if (code !== 0) throw new Error(`epcommerce serve ended with code ${code}: ${stderr}`)
      return stderr.match(/^stopped with .*$/m)?.[0]
    },
  }
}
