import type { ErrorNumber, Operation } from './contract.generated.ts'
import { parseExact } from './exact-json.ts'

/** A success of the service. */
export interface Success {
  readonly headers: Headers
  /** The JSON of the body, as parseExact reads it, or the stream that the caller reads as it comes. */
  readonly value: unknown
}

/** A refusal of the service; the number is 0 where another program refuses. */
export interface Refusal {
  readonly number: ErrorNumber | 0
  readonly message: string
}

/** Thrown for an answer that another program gives as if it were the service. */
export class Foreign extends TypeError {
  readonly status: number

  constructor(status: number, what: string) {
    super(`an answer with the status ${status} that is not of Plantstore: ${what}`)
    this.status = status
  }
}

/**
 * Decides whether an answer is the service's own: the portal of a network, a gateway or another program may answer any
 * request with any status. Looks at the status, the media type, the entity tag and the form of the JSON. An answer that
 * says little by itself must have the `X-Request-Id` that each answer of the service has.
 *
 * @param stream the media type of an answer that the caller reads as it comes
 * @throws Foreign when another program answers; else an error when the answer is not whole
 */
export async function judge(operation: Operation, response: Response, stream?: RegExp): Promise<Success | Refusal> {
  const { status, headers, body } = response
  if (status >= 400) return refusalOf(status, headers, await response.text())
  const { success, hasTag = false, members, isList = false } = operation
  // A browser tells of a redirect by the status 0.
  if (!success.includes(status)) throw new Foreign(status, 'another status')
  if (hasTag && !/^(W\/)?".+"$/.test(headers.get('ETag') ?? '')) throw new Foreign(status, 'no entity tag')
  const type = headers.get('Content-Type') ?? ''
  const expected = stream ?? (members === undefined ? /^$/ : JSON_TYPE)
  if (!expected.test(type)) throw new Foreign(status, `the media type ${type}`)
  const value = stream === undefined ? await jsonOf(response) : (body ?? new Blob().stream())
  const parts = isList && Array.isArray(value) ? value : [value]
  const isTold = stream === undefined && parts.length > 0 && members !== undefined && members.length > 1
  if (!isTold && !headers.has('X-Request-Id')) throw new Foreign(status, 'no X-Request-Id')
  if (stream !== undefined || members === undefined) return { headers, value }
  const isSo = Array.isArray(value) === isList && parts.every((part) => members.every((name) => name in Object(part)))
  if (!isSo) throw new Foreign(status, 'JSON of another form')
  return { headers, value }
}

/**
 * Decides the same of an answer to a message of the Model Context Protocol, and returns the text of its message, or the
 * refusal of HTTP that it stands for.
 *
 * @param isRequest whether the message asks for one; the answer to a notification is empty
 * @throws as `judge` does
 */
export async function judgeMessage(response: Response, isRequest: boolean): Promise<string | Refusal> {
  const { status, headers } = response
  const text = await textOf(response)
  if (!isRequest && status === 202 && text === '' && headers.has('X-Request-Id')) return ''
  const type = headers.get('Content-Type') ?? ''
  const message = EVENTS_TYPE.test(type) ? dataIn(text) : text
  const answer = EVENTS_TYPE.test(type) || JSON_TYPE.test(type) ? answerIn(message) : undefined
  if (answer !== undefined) return isOwn(status, answer) ? { number: answer.error, message: answer.message } : message
  if (status >= 400) return refusalOf(status, headers, text)
  throw new Foreign(status, 'no message')
}

/** The message in a stream of one event, as revisions before 2026-07-28 are answered. A dot ends at U+2028, too. */
const dataIn = (text: string): string => /^data: ([^\r\n]*)/m.exec(text)?.[1] ?? ''

/** The data of the error in an answer of JSON-RPC, which has none for a result; undefined for another text. */
function answerIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const { jsonrpc, result, error } = objectIn(text)
  const isAnswer = jsonrpc === '2.0' && (result !== undefined || error !== undefined)
  return isAnswer ? Object(Object(error).data) : undefined
}

const EVENTS_TYPE = /^text\/event-stream\b/i
const JSON_TYPE = /^application\/json\b/i

/** `Response.text()` would replace bytes that are not UTF-8 without a word. */
const utf8 = new TextDecoder('utf-8', { fatal: true })
const textOf = async (response: Response): Promise<string> => utf8.decode(await response.arrayBuffer())

/** undefined for the answer 204. */
async function jsonOf(response: Response): Promise<unknown> {
  const text = await textOf(response)
  return response.status === 204 ? undefined : parseExact(text)
}

function refusalOf(status: number, headers: Headers, text: string): Refusal {
  const body = JSON_TYPE.test(headers.get('Content-Type') ?? '') ? objectIn(text) : {}
  if (!isOwn(status, body)) return { number: 0, message: `HTTP status ${status}` }
  return { number: body.error, message: body.message }
}

/** Whether JSON is a refusal of the service, whose number is the status times 100 plus a counter. */
const isOwn = (
  status: number,
  body: Readonly<Record<string, unknown>>,
): body is { readonly error: ErrorNumber; readonly message: string } =>
  typeof body['error'] === 'number' && Math.floor(body['error'] / 100) === status && typeof body['message'] === 'string'

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(parseExact(text)) as Readonly<Record<string, unknown>>
  } catch {
    return {}
  }
}
