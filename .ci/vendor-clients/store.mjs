// Starts the program fake-store, and stops it.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * Starts the program with the payloads of a generation, first or second. values holds what it
 * prints, by name: address, client id and so on. stop ends it, and returns the last line that it
 * printed to standard error.
 */
export async function startStore(program, generation) {
  const child = spawn(program, ['-generation', generation], { stdio: ['ignore', 'pipe', 'pipe'] })
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
  if (!values.address) throw new Error(`fake-store printed no address; exit code ${await ended}: ${stderr}`)

  return {
    generation,
    values,
    async stop() {
      child.kill('SIGTERM')
      const code = await ended
      if (code !== 0) throw new Error(`fake-store ended with code ${code}: ${stderr}`)
      return stderr.trimEnd().split('\n').at(-1)
    },
  }
}
