// store.mjs: each test has a namespace of epcommerce serve, whatever runs the tests.
const address = process.env.STORE ?? 'http://127.0.0.1:8080'

async function send(token, method, path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {}
  const response = await fetch(`${address}/_store/${path}`, { method, headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new Error(JSON.parse(text).errors.map(({ detail }) => detail).join('\n'))
  return text && JSON.parse(text)
}

/** Makes a test, which fails too if a fault was not met, or a request is pending at its end. */
export function withStore(body) {
  return async () => {
    const namespace = await send(process.env.STORE_TOKEN, 'POST', 'namespaces')
    const get = (path, query) => send(namespace.token, 'GET', `${path}?${new URLSearchParams(query)}`)
    const post = (path, body) => send(namespace.token, 'POST', path, body)
    const errors = []
    const parts = [
      () => body({ ...namespace, address, get, post }), () => get('verify'),
      () => send(namespace.token, 'DELETE', 'namespaces'),
    ]
    for (const part of parts) await part().catch((error) => errors.push(error))
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'), { cause: errors[0] })
  }
}
