import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { ERRORS } from '../../src/errors.ts'
import {
  absolute,
  type OperationObject,
  type ResponseObject,
  readContract,
  resolve,
  schemaCompiler,
} from '../../src/http/operations.ts'

export interface Seen {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface HeaderObject {
  readonly required?: boolean
  readonly schema: object
}

export const contract = readContract()
const literalFirst = contract.operations.toSorted((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
const ajv = schemaCompiler(contract.document)
const validators = new Map<string, ValidateFunction>()

/** The contract's operation behind a method and path; HEAD is GET without its body (RFC 9110 section 9.3.2). */
export function operationIdOf(method: string, url: string): string | undefined {
  const path = decoded(url.split('?', 1)[0] ?? '')
  const found = literalFirst.find((operation) => patternOf(operation.path).test(path))
  const sought = method === 'HEAD' ? 'GET' : method
  return literalFirst.find((operation) => operation.path === found?.path && operation.method === sought)?.id
}

/** A path that is no valid UTF-8 stays as it is, and belongs to no operation. */
function decoded(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)

/** Holds one answer against what the contract says of its operation: status, headers, body and error number. */
export function assertConforms(operationId: string, seen: Seen, { hasBody = true } = {}): void {
  const about = `${operationId} ${seen.status} ${seen.body.slice(0, 200)}`
  const { response, media } = assertHeadConforms(operationId, seen, about)
  if (media === undefined) assert.equal(seen.body, '', `${about}: has a body`)
  else if (hasBody && seen.headers['content-encoding'] === undefined) {
    const isJson = /^application\/json(?:;|$)/.test(seen.headers['content-type'] ?? '')
    const body: unknown = isJson ? JSON.parse(seen.body) : seen.body
    assertValid(media.schema as object, body, about)
    if (seen.status >= 400) assertError(body, seen.status, response['x-errors'] ?? [], about)
  }
}

/** The same for status and headers alone; `media` is what the contract says of the body, undefined where there is none. */
export function assertHeadConforms(
  operationId: string,
  { status, headers }: Pick<Seen, 'status' | 'headers'>,
  about = `${operationId} ${status}`,
) {
  const response = responseOf(operationId, status, about)
  assertHeaders(response, headers, about)
  const { 'content-type': type = '', 'content-length': length } = headers
  if (response.content === undefined) {
    assert.deepEqual([type, length], ['', status === 303 ? '0' : undefined], `${about}: has content`)
    return { response, media: undefined }
  }
  const [mediaType = ''] = type.split(';', 1)
  const media = response.content[mediaType]
  assert.ok(media !== undefined, `${about}: the media type ${mediaType} is not in the contract`)
  return { response, media }
}

/** Every refusal, also one that belongs to no operation, is exactly `{error, message}` with a number of its status. */
export function assertError(body: unknown, status: number, allowed?: readonly number[], about = ''): void {
  assert.ok(typeof body === 'object' && body !== null, `${about}: is no object`)
  assert.deepEqual(Object.keys(body).sort(), ['error', 'message'], about)
  const { error, message } = body as { error: unknown; message: unknown }
  assert.ok(typeof error === 'number' && Object.hasOwn(ERRORS, error), `${about}: ${error} is not in the catalog`)
  assert.equal(Math.trunc(error / 100), status, about)
  assert.ok(typeof message === 'string' && message.length > 0, about)
  if (allowed !== undefined) assert.ok(allowed.includes(error), `${about}: ${error} is not among [${allowed}]`)
}

function responseOf(operationId: string, status: number, about: string): ResponseObject {
  const operations = Object.values(contract.document.paths).flatMap((item) => Object.values(item))
  const operation: OperationObject | undefined = operations.find((found) => found.operationId === operationId)
  assert.ok(operation !== undefined, `the contract has no operation ${operationId}`)
  const declared = operation.responses[String(status)]
  assert.ok(declared !== undefined, `${about}: the contract does not declare this status`)
  return resolve<ResponseObject>(contract.document, declared)
}

/** They belong to the message or to its body, and OpenAPI has other places for them, or none. */
const OF_THE_MESSAGE = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
])

function assertHeaders(response: ResponseObject, headers: IncomingHttpHeaders, about: string): void {
  const declared = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()))
  const undeclared = Object.keys(headers).filter((name) => !declared.has(name) && !OF_THE_MESSAGE.has(name))
  assert.deepEqual(undeclared, [], `${about}: the contract does not declare these headers`)
  for (const [name, declared] of Object.entries(response.headers ?? {})) {
    const { required = false, schema } = resolve<HeaderObject>(contract.document, declared as HeaderObject)
    const value = headers[name.toLowerCase()]
    if (required) assert.ok(value !== undefined, `${about}: the header ${name} is missing`)
    if (value !== undefined) assertValid(schema, value, `${about}: ${name}: ${value}`)
  }
}

function assertValid(schema: object, value: unknown, about: string): void {
  const key = JSON.stringify(schema)
  const validate = validators.get(key) ?? ajv.compile(absolute(schema))
  validators.set(key, validate)
  assert.ok(validate(value), `${about}: ${ajv.errorsText(validate.errors)}`)
}
