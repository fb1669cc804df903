import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { ERRORS } from '../src/domain/errors.ts'
import { isScope, type Scope } from '../src/domain/token.ts'
import { type CompiledOperation, type CompiledParameter, type Method, newAjv } from '../src/http/request/operations.ts'
import { ROOT } from './repository.ts'

export const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const

/** The part of an OpenAPI document that the generator reads. A test checks the document against the whole standard. */
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
interface ParameterObject extends Omit<CompiledParameter, 'schema'> {
  readonly required?: boolean
  readonly schema: CompiledParameter['schema'] | Reference
}
export interface OperationObject {
  readonly operationId?: string
  readonly summary?: string
  readonly security?: readonly Requirement[]
  /** OpenAPI has scopes for OAuth alone, and validators refuse them at a bearer scheme. */
  readonly 'x-scopes'?: readonly string[]
  readonly 'x-whole-store'?: true
  readonly 'x-public'?: true
  readonly parameters?: readonly (ParameterObject | Reference)[]
  readonly 'x-accept'?: 'handler'
  readonly 'x-errors': readonly number[]
  readonly requestBody?: { readonly content: Content; readonly required?: boolean; readonly 'x-streamed'?: boolean }
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>
}
interface Reference {
  readonly $ref: string
}

/** Reads openapi.yaml, and adds what each number of a refusal means. */
export function readSource(text: string = readFileSync(join(ROOT, 'openapi.yaml'), 'utf8')): Document {
  return { ...(parse(text) as Document), 'x-errors': ERRORS } as Document
}

/** The text of contract.generated.json, which the program reads. */
export function generatedContract(): string {
  const document = readSource()
  return `${JSON.stringify({ document, operations: compiledOperations(document) })}\n`
}

/**
 * Compiles the operations of an OpenAPI document.
 *
 * @throws Error when the service cannot enforce what an operation says, or when an answer has no schema
 */
export function compiledOperations(document: Document): CompiledOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) =>
      compiled(document, path, method, item[method] as OperationObject),
    ),
  )
}

function compiled(document: Document, path: string, method: string, object: OperationObject): CompiledOperation {
  const id = object.operationId
  if (id === undefined) throw new Error(`openapi.yaml: ${method} ${path} has no operationId`)
  for (const status of Object.keys(object.responses))
    checkResponse(document, `${id} ${status}`, object.responses[status])
  const produces = producedBy(document, object)
  const scopes = scopesOf(document, id, object)
  return {
    id,
    method: method.toUpperCase() as Method,
    path,
    summary: object.summary ?? '',
    ...(scopes === undefined ? {} : { scopes }),
    isOfWholeStore: object['x-whole-store'] ?? false,
    isPublic: object['x-public'] ?? false,
    parameters: parametersOf(document, object),
    mediaTypes: Object.keys(object.requestBody?.content ?? {}),
    isBodyOptional: object.requestBody?.required === false,
    produces,
    vary: varyOf(method, object, produces),
    isStreamed: object.requestBody?.['x-streamed'] ?? false,
  }
}

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
  const headers = depends ? 'Accept, Accept-Encoding' : 'Accept-Encoding'
  return object['x-public'] ? `${headers}, Authorization` : headers
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

function parametersOf(document: Document, { parameters = [] }: OperationObject): CompiledParameter[] {
  return parameters.map((parameter) => {
    const { name, in: location, required = false, schema } = resolve<ParameterObject>(document, parameter)
    if (required !== (location === 'path')) {
      throw new Error(`openapi.yaml: the parameter ${name} must be required in the path, and only there`)
    }
    return { name, in: location, schema: whole(document, resolve<CompiledParameter['schema']>(document, schema)) }
  })
}

/** A schema with what its references lead to in their places. */
function whole<Schema extends object>(document: Document, schema: Schema): Schema {
  const inline = (_name: string, value: unknown) =>
    typeof value === 'object' && value !== null && '$ref' in value ? resolve(document, value as Reference) : value
  return JSON.parse(JSON.stringify(schema, inline)) as Schema
}

/** Makes the compiler of the document's schemas. */
export const schemaCompiler = ({ components }: Document): Ajv2020 =>
  newAjv().addVocabulary(['components']).addSchema({ $id: 'contract', components })

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
