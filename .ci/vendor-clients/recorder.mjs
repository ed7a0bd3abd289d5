// Records the requests of a client.

/** Returns a fetch function for a client, and the list of its requests and their statuses. */
export function newRecorder() {
  const requests = []
  async function recordingFetch(input, init) {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const body = await request.clone().text()
    const response = await fetch(request)
    requests.push({ line: `${request.method} ${pathname}${search}`, body, status: response.status })
    return response
  }
  return { requests, fetch: recordingFetch }
}

/**
 * Returns a request for people: the line, and the body without the spaces of its JSON. The texts
 * of custom discounts are left out.
 */
export function requestText({ line, body }) {
  if (!body) return line
  try {
    return `${line} ${JSON.stringify(JSON.parse(body), withoutTexts)}`
  } catch {
    return `${line} ${body}` // a form
  }
}

function withoutTexts(name, value) {
  return ['description', 'discount_code', 'discount_engine'].includes(name) ? undefined : value
}
