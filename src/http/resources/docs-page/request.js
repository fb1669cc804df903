/** The UTF-16 code units of a body that the page shows. The rest of a large export would only fill the memory. */
const MAX_SHOWN = 500_000

/**
 * Makes the request of an operation from its form. Takes every text exactly as typed.
 *
 * @param {import('./contract.js').Operation} operation
 * @param {HTMLFormElement} form
 * @param {string} token
 */
export function requestOf(operation, form, token) {
  let path = operation.path
  const query = []
  /** @type {[string, string][]} */
  const headers = token === '' || operation.security.length === 0 ? [] : [['Authorization', `Bearer ${token}`]]
  for (const parameter of operation.parameters) {
    const text = typed(form, `${parameter.in}:${parameter.name}`) ?? ''
    for (const value of text === '' ? [] : text.split('\n')) {
      if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(value))
      else if (parameter.in === 'query') query.push(`${parameter.name}=${encodeURIComponent(value)}`)
      else headers.push([parameter.name, value])
    }
  }
  for (const name of ['Content-Type', 'Accept']) {
    const type = typed(form, name)
    if (type !== undefined) headers.push([name, type])
  }
  const body = pickedFile(form) ?? typed(form, 'body')
  const target = query.length === 0 ? path : `${path}?${query.join('&')}`
  return { method: operation.method, target, headers, body }
}

/**
 * The text of a control, exactly as typed; undefined where the form has no such control.
 *
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function typed(form, name) {
  const control = form.elements.namedItem(name)
  const hasText =
    control instanceof HTMLInputElement ||
    control instanceof HTMLSelectElement ||
    control instanceof HTMLTextAreaElement
  return hasText ? control.value : undefined
}

/** @param {HTMLFormElement} form */
function pickedFile(form) {
  const control = form.elements.namedItem('file')
  return control instanceof HTMLInputElement ? control.files?.[0] : undefined
}

/**
 * Sends a request.
 *
 * @param {ReturnType<typeof requestOf>} request
 * @returns the answer with its body as text; `isWhole` is false where the text is only the beginning
 */
export async function send({ method, target, headers, body }) {
  const response = await fetch(target, { method, headers, body: body ?? null, cache: 'no-store' })
  const { text, isWhole } = await textOf(response)
  return { status: `${response.status} ${response.statusText}`, headers: [...response.headers], text, isWhole }
}

/** @param {Response} response */
async function textOf({ body }) {
  if (body === null) return { text: '', isWhole: true }
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { text, isWhole: true }
    text += value
    if (text.length <= MAX_SHOWN) continue
    await reader.cancel()
    return { text: text.slice(0, MAX_SHOWN), isWhole: false }
  }
}

/**
 * Writes a request as a command for curl.
 *
 * @param {ReturnType<typeof requestOf>} request
 */
export function curlOf({ method, target, headers, body }) {
  const parts = method === 'GET' ? [] : ['-X', method]
  for (const [name, value] of headers) {
    // The shell inserts the token, so people can show the command to others.
    parts.push(
      '-H',
      name === 'Authorization' ? '"Authorization: Bearer $PLANTSTORE_TOKEN"' : quoted(`${name}: ${value}`),
    )
  }
  if (typeof body === 'string') parts.push('--data-binary', quoted(body))
  else if (body !== undefined) parts.push('--data-binary', quoted(`@${body.name}`))
  return ['curl', '-i', ...parts, quoted(location.origin + target)].join(' ')
}

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`
