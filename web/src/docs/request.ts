import { SERVICE } from '../page/service.ts'
import type { Operation } from './contract.ts'

/** The UTF-16 code units of a body that the page shows. The rest of a large export would only fill the memory. */
const MAX_SHOWN = 500_000

export interface Request {
  readonly method: string
  /** Path and query, below the address of the service. */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | File | undefined
}

export interface ShownAnswer {
  readonly status: string
  readonly headers: readonly (readonly [string, string])[]
  readonly text: string
  /** False where the text is only the beginning of the body. */
  readonly isWhole: boolean
}

/** Makes the request of an operation from its form. Takes every text exactly as typed. */
export function requestOf(operation: Operation, form: HTMLFormElement, token: string): Request {
  let path = operation.path
  const query: string[] = []
  const headers: [string, string][] = []
  if (token !== '' && operation.security.length > 0) headers.push(['Authorization', `Bearer ${token}`])
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

/** The text of a control, exactly as typed; undefined where the form has no such control. */
function typed(form: HTMLFormElement, name: string): string | undefined {
  const control = form.elements.namedItem(name)
  const hasText =
    control instanceof HTMLInputElement ||
    control instanceof HTMLSelectElement ||
    control instanceof HTMLTextAreaElement
  return hasText ? control.value : undefined
}

function pickedFile(form: HTMLFormElement): File | undefined {
  const control = form.elements.namedItem('file')
  return control instanceof HTMLInputElement ? control.files?.[0] : undefined
}

/** @throws TypeError when the service does not answer */
export async function send({ method, target, headers, body }: Request): Promise<ShownAnswer> {
  const given = headers.map(([name, value]): [string, string] => [name, value])
  const response = await fetch(SERVICE + target, { method, headers: given, body: body ?? null, cache: 'no-store' })
  const { text, isWhole } = await textOf(response)
  return { status: `${response.status} ${response.statusText}`, headers: [...response.headers], text, isWhole }
}

async function textOf({ body }: Response): Promise<Pick<ShownAnswer, 'text' | 'isWhole'>> {
  if (body === null) return { text: '', isWhole: true }
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { text, isWhole: true }
    text += decoder.decode(value, { stream: true })
    if (text.length <= MAX_SHOWN) continue
    await reader.cancel()
    return { text: text.slice(0, MAX_SHOWN), isWhole: false }
  }
}

/** Writes a request as a command for curl. */
export function curlOf({ method, target, headers, body }: Request): string {
  const parts = method === 'GET' ? [] : ['-X', method]
  for (const [name, value] of headers) {
    // The shell inserts the token, so people can show the command to others.
    const isSecret = name === 'Authorization'
    parts.push('-H', isSecret ? '"Authorization: Bearer $PLANTSTORE_TOKEN"' : quoted(`${name}: ${value}`))
  }
  if (body !== undefined) parts.push('--data-binary', quoted(typeof body === 'string' ? body : `@${body.name}`))
  return ['curl', '-i', ...parts, quoted(SERVICE + target)].join(' ')
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
