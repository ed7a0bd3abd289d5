// A page cannot hold code that snippets.mjs does not see.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isNamed, snippetsOf } from './snippets.mjs'

test('fences and spans are found', () => {
  const page = 'Run `a b`, or:\n\n```sh\nc `d`\n```\n\n- Or:\n\n  ```\n  e\n  ```\n'
  assert.deepEqual(snippetsOf(page), ['sh\nc `d`\n', '\n  e\n', 'a b'])
})

for (const code of [
  '~~~sh\na b\n~~~', '````sh\na b\n````', '```sh title="x"\na b\n```', '```shell-session\na b\n```',
  '```sh\r\na b\r\n```', '> ```sh\n> a b\n> ```', '- x\n\n\t```sh\n\ta b\n\t```', '    a b',
  '\ta b', '<pre>a b</pre>', '<code>a b</code>', '<KBD>a b</KBD>', 'Run `a\nb`.', 'Run ``a b``.',
]) {
  test(`${JSON.stringify(code)} is refused`, () => {
    assert.throws(() => snippetsOf(`Text\n\n${code}\n\nText\n`), /nobody runs/)
  })
}

test('a part of a name is no name', () => {
  assert.ok(isNamed('cut_after', ['with "cut_after"']) && isNamed('@a/b.js', ['(@a/b.js)']))
  for (const part of ['cut', 'after', 'cut.after']) assert.ok(!isNamed(part, ['with "cut_after" and cut-after']))
})
