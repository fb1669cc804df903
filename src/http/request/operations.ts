import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { readAsset } from '../../base/assets.ts'
import { DATE_TIME, isScope, type Scope } from '../../domain/token.ts'
import { type Fault, type Parameter, ParameterReader, type ParameterSchema } from './head.ts'

export const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const

export type Method = Uppercase<(typeof METHODS)[number]>

/** The parts of an operation of the contract that the service needs at run time. */
export interface Operation {
  readonly id: string
  readonly method: Method
  /** With parameters in braces, as in the contract. */
  readonly path: string
  /** The scopes that a token needs; undefined: the operation needs no token. */
  readonly scopes: readonly Scope[] | undefined
  readonly parameters: ParameterReader
  /** The media types of the body; empty for an operation that takes no body. */
  readonly mediaTypes: readonly string[]
  /** Whether a request without a body is good, although the operation takes one. */
  readonly isBodyOptional: boolean
  /** The media types of successful answers; empty where these have no body, or where Accept does not decide alone. */
  readonly produces: readonly string[]
  /** The request headers on which the answers depend, as the header Vary names them. */
  readonly vary: string
  /** Whether the handler reads the body in pieces, because the body may exceed the memory. */
  readonly isStreamed: boolean
}

export interface Contract {
  readonly document: Document
  readonly operations: readonly Operation[]
}

/** The part of an OpenAPI document that this file reads. A test checks the document against the whole standard. */
export interface Document {
  readonly info: { readonly version: string }
  readonly security?: readonly Requirement[]
  /** Headers that any answer may have. */
  readonly 'x-headers': Readonly<Record<string, unknown>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}
type Requirement = Readonly<Record<string, readonly string[]>>
type Content = Readonly<Record<string, { readonly schema?: unknown }>>
export interface ResponseObject {
  readonly content?: Content
  readonly headers?: Readonly<Record<string, unknown>>
}
interface ParameterObject extends Omit<Parameter, 'schema' | 'faultsOf'> {
  readonly schema: ParameterSchema | Reference
}
export interface OperationObject {
  readonly operationId?: string
  readonly summary?: string
  readonly security?: readonly Requirement[]
  /** OpenAPI has scopes for OAuth alone, and validators refuse them at a bearer scheme. */
  readonly 'x-scopes'?: readonly string[]
  readonly parameters?: readonly (ParameterObject | Reference)[]
  readonly 'x-accept'?: 'handler'
  readonly 'x-errors': readonly number[]
  readonly requestBody?: { readonly content: Content; readonly required?: boolean; readonly 'x-streamed'?: boolean }
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>
}
interface Reference {
  readonly $ref: string
}

/** Reads the JSON that `npm run generate` made of openapi.yaml. `npm run check` fails where the two differ. */
export function readDocument(): Document {
  return JSON.parse(readAsset(new URL('contract.generated.json', import.meta.url)).toString()) as Document
}

/**
 * Compiles the operations of an OpenAPI document.
 *
 * @throws Error when an operation has no id, an unknown scope or security scheme, or an answer without a schema
 */
export function readContract(document: Document = readDocument()): Contract {
  const ajv = schemaCompiler(document)
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) =>
      operation(document, ajv, path, method, item[method] as OperationObject),
    ),
  )
  return { document, operations }
}

/**
 * Makes the compiler of the document's schemas. It accepts every `int64` and `entity-tags`, because the code that reads
 * such values checks them. A test checks that the schemas are valid; a check here would take a fifth of the time that
 * the service needs to start.
 */
export function schemaCompiler(document: Document): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: true,
    allowUnionTypes: true,
    validateSchema: false,
  })
  ajv.addVocabulary(['x-pattern-says', 'x-lowered-to', 'components'])
  ajv.addFormat('int64', { type: 'number', validate: () => true })
  ajv.addFormat('entity-tags', true)
  ajv.addFormat('date-time', DATE_TIME)
  ajv.addFormat('int32', { type: 'number', validate: (value) => value >= -(2 ** 31) && value < 2 ** 31 })
  ajv.addSchema({ $id: 'contract', components: document.components })
  return ajv
}

function operation(document: Document, ajv: Ajv2020, path: string, method: string, object: OperationObject): Operation {
  const id = object.operationId
  if (id === undefined) throw new Error(`openapi.yaml: ${method} ${path} has no operationId`)
  for (const status of Object.keys(object.responses))
    checkResponse(document, `${id} ${status}`, object.responses[status])
  const content = object.requestBody?.content ?? {}
  const produces = producedBy(document, object)
  return {
    id,
    method: method.toUpperCase() as Method,
    path,
    scopes: scopesOf(document, id, object),
    parameters: new ParameterReader(parametersOf(document, ajv, object), { isWrite: method !== 'get' }),
    mediaTypes: Object.keys(content),
    isBodyOptional: object.requestBody?.required === false,
    produces,
    vary: varyOf(method, object, produces),
    isStreamed: object.requestBody?.['x-streamed'] ?? false,
  }
}

/** An operation that another specification than the contract defines. It needs no token unless it has scopes. */
export const foreignOperation = (given: Pick<Operation, 'id' | 'method' | 'path'> & Partial<Operation>): Operation => ({
  scopes: undefined,
  parameters: new ParameterReader([], { isWrite: given.method !== 'GET' }),
  mediaTypes: [],
  isBodyOptional: false,
  produces: [],
  vary: '',
  isStreamed: false,
  ...given,
})

/** Whether an operation redirects a client that accepts none of its media types. */
const redirects = ({ responses }: OperationObject): boolean => '303' in responses

/** Whether the handler decides what Accept means. */
const isLenient = (object: OperationObject): boolean => object['x-accept'] === 'handler'

function producedBy(document: Document, object: OperationObject): string[] {
  const { responses } = object
  if (redirects(object) || isLenient(object)) return []
  const good = Object.keys(responses).filter((status) => status.startsWith('2'))
  return [...new Set(good.flatMap((status) => Object.keys(resolve(document, responses[status]).content ?? {})))]
}

function varyOf(method: string, object: OperationObject, produces: readonly string[]): string {
  if (method !== 'get') return ''
  // JSON has a form with ids as texts.
  const depends = redirects(object) || isLenient(object) || produces.length > 1 || produces.includes('application/json')
  return depends ? 'Accept, Accept-Encoding' : 'Accept-Encoding'
}

function checkResponse(document: Document, name: string, object: ResponseObject | Reference | undefined): void {
  const { content } = resolve<ResponseObject>(document, object)
  if (/ (?:204|303|304)$/.test(name)) return
  const schemas = Object.values(content ?? {}).map((media) => media.schema)
  if (schemas.length === 0 || schemas.includes(undefined)) throw new Error(`openapi.yaml: ${name} has no schema`)
}

function scopesOf(document: Document, id: string, object: OperationObject): Scope[] | undefined {
  const { security = document.security ?? [], 'x-scopes': scopes = [] } = object
  const [requirement] = security
  if (requirement === undefined) return undefined
  const [scheme = ''] = Object.keys(requirement)
  const known = document.components['securitySchemes']?.[scheme] as { type?: string; scheme?: string } | undefined
  if (known?.type !== 'http' || known.scheme !== 'bearer')
    throw new Error(`openapi.yaml: ${id} has no known security scheme`)
  return scopes.map((scope) => {
    if (!isScope(scope)) throw new Error(`openapi.yaml: ${id} needs the unknown scope ${scope}`)
    return scope
  })
}

function parametersOf(document: Document, ajv: Ajv2020, { parameters = [] }: OperationObject): Parameter[] {
  return parameters.map((parameter) => {
    const found = resolve<ParameterObject>(document, parameter)
    const schema = resolve<ParameterSchema>(document, found.schema)
    return { ...found, schema, faultsOf: faultFinder(ajv, found.schema) }
  })
}

/** Compiles the schema with its first value: all of them would take a quarter of a start. */
function faultFinder(ajv: Ajv2020, schema: unknown): (value: unknown) => Fault[] {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= ajv.compile(absolute(schema))
    return validate(value) ? [] : (validate.errors ?? []).map(faultOf)
  }
}

/** Returns an error of Ajv as a message that continues the name of its member. */
export function faultOf(error: ErrorObject): Fault {
  const { keyword, params } = error
  if (keyword === 'required') return { member: params['missingProperty'], message: 'is required' }
  return { member: error.instancePath.slice(1), message: wordsOf(error) }
}

function wordsOf({ keyword, params, parentSchema, message = keyword }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${[params['type']].flat().map(article).join(' or ')}`
    case 'pattern':
      return String(parentSchema?.['x-pattern-says'] ?? message)
    case 'enum':
      return `must be one of ${params['allowedValues'].join(', ')}`
    case 'minimum':
      return `must be at least ${params['limit']}`
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : `must have at least ${params['limit']} characters`
    case 'maxLength':
      return `must have at most ${params['limit']} characters`
    case 'maxItems':
      return `may be given at most ${params['limit']} times`
    default:
      return message
  }
}

const article = (type: string): string => (type === 'null' ? type : `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`)

/** The same schema with absolute references into the document. */
export function absolute(schema: unknown): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"contract#/')) as object
}

/** Follows a reference into the document, if it is one. */
export function resolve<T extends object>(document: Document, object: T | Reference | undefined): T {
  if (object === undefined) throw new Error('openapi.yaml: nothing to resolve')
  if (!('$ref' in object)) return object
  const found = object.$ref
    .slice(2)
    .split('/')
    .reduce((at: unknown, key) => (at as Record<string, unknown> | undefined)?.[key], document)
  if (found === undefined) throw new Error(`openapi.yaml: ${object.$ref} leads nowhere`)
  return found as T
}
