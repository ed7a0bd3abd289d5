// The calls of one client to one store: what was expected, and what came.

import { inspect } from 'node:util'

import { describe } from './describe.mjs'
import { requestText } from './recorder.mjs'

export class Calls {
  rows = []
  failures = []
  #names = new Map()
  #client
  #generation
  #requests

  constructor(client, generation, requests) {
    this.#client = client
    this.#generation = generation
    this.#requests = requests
  }

  /** Replaces id by {name} in the table. */
  name(id, name) {
    if (typeof id === 'string' && id !== '') this.#names.set(id, `{${name}}`)
    return id
  }

  /**
   * Makes a call, compares it with want, and returns what the client returned or threw.
   *
   *   status   of each request that the call sends: a number, or several with commas
   *   returns  what describe says about the value
   *   why      a remark for the table, e.g. the reason of a refusal
   *
   * The first two may be objects with the members first and second, if the generations differ.
   */
  async call(call, want, run) {
    const before = this.#requests.length
    let value
    try {
      value = await run()
    } catch (thrown) {
      value = { thrown }
    }
    const sent = this.#requests.slice(before)
    const row = {
      call,
      sends: sent.map(requestText),
      status: sent.map((request) => request.status).join(', '),
      returns: describe(value),
      why: want.why,
    }
    this.rows.push(row)
    this.#compare(`${call}: status`, row.status, String(this.#mine(want.status)))
    this.#compare(`${call}: returns`, row.returns, this.#mine(want.returns))
    return value
  }

  /** Checks that got is want, for what a row does not show. */
  check(what, got, want) {
    this.#compare(what, inspect(got, { depth: 9 }), inspect(want, { depth: 9 }))
  }

  #mine(value) {
    return value?.[this.#generation] ?? value
  }

  #compare(what, got, want) {
    if (got === want) return
    const at = `${this.#client}, ${this.#generation} generation`
    this.failures.push(`${at}: ${what}\n   got ${got}\n  want ${want}`)
  }

  /** The rows with names instead of ids. Reports an id that has no name. */
  namedRows() {
    const replaceIDs = (text) => [...this.#names].reduce((t, [id, name]) => t.replaceAll(id, name), text ?? '')
    for (const row of this.rows) {
      row.sends = row.sends.map(replaceIDs)
      row.returns = replaceIDs(row.returns)
      const id = `${row.sends} ${row.returns}`.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/)
      if (id) this.failures.push(`${this.#client}: ${row.call}: the id ${id[0]} has no name`)
    }
    return this.rows
  }
}

/** Returns the rows of a Markdown table. Each generation must have sent the same requests. */
export function tableRows(client, first, second, failures) {
  return first.map((row, i) => {
    const other = second[i] ?? { sends: [] } // the run failed
    const sends = row.sends.join('\n')
    if (row.call !== other.call || sends !== other.sends.join('\n')) {
      failures.push(`${client}: the generations differ:\n  ${row.call}: ${sends}\n  ${other.call}: ${other.sends}`)
    }
    const text = (a, b) => (a === b ? a : `first: ${a}; second: ${b}`)
    const returns = text(row.returns, other.returns) + (row.why ? `. ${row.why}` : '')
    const cells = [client, code(row.call), row.sends.map(code).join('<br>'), row.status, other.status, returns]
    return `| ${cells.join(' | ')} |`
  })
}

const code = (text) => `\`${text}\``
