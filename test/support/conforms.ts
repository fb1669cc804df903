import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import {
  absolute,
  type OperationObject,
  type ResponseObject,
  readSource,
  resolve,
  schemaCompiler,
} from '../../scripts/contract-source.ts'
import { ERRORS } from '../../src/domain/errors.ts'
import { readContract } from '../../src/http/request/operations.ts'
import { contractWithTextIds, WITH_TEXT_IDS } from '../../src/http/request/text-ids.ts'

export interface Seen {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface HeaderObject {
  readonly required?: boolean
  readonly schema: object
}

export const contract = { ...readContract(), document: readSource() }
const literalFirst = contract.operations
  .toSorted((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
  .map(({ id, method, path }) => ({ id, method, path, pattern: patternOf(path) }))

/** The contract of a form of answers: with ids as numbers, or as texts. */
class Form {
  readonly document: typeof contract.document
  readonly declared = new Map<string, Declared>()
  readonly #ajv: ReturnType<typeof schemaCompiler>
  readonly #validators = new Map<string, ValidateFunction>()

  constructor(document: typeof contract.document) {
    this.document = document
    this.#ajv = schemaCompiler(document)
  }

  validatorOf(schema: object): ValidateFunction {
    const key = JSON.stringify(schema)
    const validate = this.#validators.get(key) ?? this.#ajv.compile(absolute(schema))
    this.#validators.set(key, validate)
    return validate
  }
}

const NUMBERS = new Form(contract.document)
const TEXTS = new Form(contractWithTextIds(contract.document))
const formOf = ({ 'content-type': type = '' }: IncomingHttpHeaders): Form =>
  type.endsWith(WITH_TEXT_IDS) ? TEXTS : NUMBERS

/** Returns the operation of a method and path. HEAD belongs to GET (RFC 9110 section 9.3.2). */
export function operationIdOf(method: string, url: string): string | undefined {
  const path = decoded(url.split('?', 1)[0] ?? '')
  const found = literalFirst.find(({ pattern }) => pattern.test(path))
  const sought = method === 'HEAD' ? 'GET' : method
  return literalFirst.find((operation) => operation.path === found?.path && operation.method === sought)?.id
}

/** Decodes a path. One that is not valid UTF-8 stays as it is, and belongs to no operation. */
function decoded(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
}

/** Checks an answer against the contract of its operation: status, headers, body and error number. */
export function assertConforms(operationId: string, seen: Seen, { hasBody = true } = {}): void {
  assertHeadConforms(operationId, seen)
  if (hasBody) assertBodyConforms(operationId, seen)
}

/** Checks only the status and the headers. */
export function assertHeadConforms(operationId: string, { status, headers }: Omit<Seen, 'body'>): void {
  const about = `${operationId} ${status}`
  const { content, ...declared } = declaredOf(operationId, status, about, formOf(headers))
  assertHeaders(declared, headers, about)
  const { 'content-type': type = '', 'content-length': length } = headers
  if (content === undefined) {
    assert.deepEqual([type, length], ['', status === 303 ? '0' : undefined], `${about}: has content`)
  } else {
    assert.ok(mediaTypeOf(type) in content, `${about}: the media type ${mediaTypeOf(type)} is not in the contract`)
  }
}

/** Checks only the body, which must be uncompressed. */
export function assertBodyConforms(operationId: string, { status, headers, body }: Seen): void {
  const about = `${operationId} ${status} ${body.slice(0, 200)}`
  const { content, errors } = declaredOf(operationId, status, about, formOf(headers))
  if (content === undefined) {
    assert.equal(body, '', `${about}: has a body`)
    return
  }
  const type = mediaTypeOf(headers['content-type'] ?? '')
  const value: unknown = type.startsWith('application/json') ? JSON.parse(body) : body
  assertValid(content[type], value, about)
  if (status >= 400) assertError(value, status, errors, about)
}

/** A media type as the contract names it: the parameter for ids as texts belongs to it, and no other. */
const mediaTypeOf = (contentType: string): string =>
  contentType.endsWith(WITH_TEXT_IDS) ? contentType : (contentType.split(';', 1)[0] ?? '')

/** Checks that a refusal is exactly `{error, message}` with a number of its status, even without an operation. */
export function assertError(body: unknown, status: number, allowed?: readonly number[], about = ''): void {
  assert.ok(typeof body === 'object' && body !== null, `${about}: is no object`)
  assert.deepEqual(Object.keys(body).sort(), ['error', 'message'], about)
  const { error, message } = body as { error: unknown; message: unknown }
  assert.ok(typeof error === 'number' && Object.hasOwn(ERRORS, error), `${about}: ${error} is not in the catalog`)
  assert.equal(Math.trunc(error / 100), status, about)
  assert.ok(typeof message === 'string' && message.length > 0, about)
  if (allowed !== undefined) assert.ok(allowed.includes(error), `${about}: ${error} is not among [${allowed}]`)
}

/** The contract for answers of one operation with one status. */
interface Declared {
  readonly headers: ReadonlyMap<string, { readonly isRequired: boolean; readonly validate: ValidateFunction }>
  /** undefined: the answer has no body. */
  readonly content: Readonly<Record<string, ValidateFunction>> | undefined
  readonly errors: readonly number[]
}

function declaredOf(operationId: string, status: number, about: string, form: Form): Declared {
  const key = `${operationId} ${status}`
  const declared = form.declared.get(key) ?? readDeclared(operationId, status, about, form)
  form.declared.set(key, declared)
  return declared
}

function readDeclared(operationId: string, status: number, about: string, form: Form): Declared {
  const { document } = form
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
  const operation: OperationObject | undefined = operations.find((found) => found.operationId === operationId)
  assert.ok(operation !== undefined, `the contract has no operation ${operationId}`)
  const errors = operation['x-errors'].filter((number) => Math.trunc(number / 100) === status)
  const found = operation.responses[status >= 400 ? 'default' : String(status)]
  assert.ok(found !== undefined && (status < 400 || errors.length > 0), `${about}: the contract lacks this status`)
  const { headers = {}, content } = resolve<ResponseObject>(document, found)
  const accepted = { POST: 'accept-post', PATCH: 'accept-patch' }[methodOf(operationId)] ?? 'accept'
  const needed = NEEDED[status] ?? (status === 415 ? [accepted] : [])
  return {
    headers: new Map(
      Object.entries({ ...document['x-headers'], ...headers }).map(([name, object]) => {
        const { required = false, schema } = resolve<HeaderObject>(document, object as HeaderObject)
        const isRequired = required || needed.includes(name.toLowerCase())
        return [name.toLowerCase(), { isRequired, validate: form.validatorOf(schema) }]
      }),
    ),
    content:
      content &&
      Object.fromEntries(
        Object.entries(content).map(([type, { schema }]) => [type, form.validatorOf(schema as object)]),
      ),
    errors,
  }
}

const methodOf = (id: string): string => contract.operations.find((operation) => operation.id === id)?.method ?? ''

/** Headers that a refusal with a status always has. */
const NEEDED: Readonly<Record<number, readonly string[]>> = {
  401: ['www-authenticate'],
  429: ['retry-after'],
  503: ['retry-after'],
}

/** Headers of HTTP itself, which an OpenAPI document does not list among the headers of an answer. */
const OF_THE_MESSAGE = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  // Of the way to the client; the same for all operations of a service.
  'strict-transport-security',
  'transfer-encoding',
])

function assertHeaders(
  { headers: declared }: Omit<Declared, 'content'>,
  headers: Seen['headers'],
  about: string,
): void {
  const undeclared = Object.keys(headers).filter((name) => !declared.has(name) && !OF_THE_MESSAGE.has(name))
  assert.deepEqual(undeclared, [], `${about}: the contract does not declare these headers`)
  for (const [name, { isRequired, validate }] of declared) {
    const value = headers[name]
    if (value !== undefined) assertValid(validate, value, `${about}: ${name}: ${value}`)
    else assert.ok(!isRequired, `${about}: the header ${name} is missing`)
  }
}

function assertValid(validate: ValidateFunction | undefined, value: unknown, about: string): void {
  assert.ok(validate?.(value) === true, `${about}: ${JSON.stringify(validate?.errors)}`)
}
