import type { IncomingMessage } from 'node:http'
import { AppError } from '../../domain/errors.ts'
import {
  type Expectation,
  MAX_ID,
  MIN_ID,
  type NewPlant,
  NO_EXPECTATION,
  type Versions,
  versionOf,
} from '../../domain/plant.ts'

/**
 * The media type that a client prefers (RFC 9110 section 12.5.1). Parameters other than `q` do not count here, and
 * IEEE754Compatible counts in text-ids.ts.
 *
 * @param accept the header; an absent or malformed one accepts everything, because some clients send `*; q=.2`
 * @param offered the service's types, the preferred one first
 * @returns undefined where the client accepts none of them
 */
export function preferredType<Type extends string>(
  accept: string | undefined,
  offered: readonly Type[],
): Type | undefined {
  const ranges = accept === undefined || accept === '*/*' ? undefined : readRanges(accept)
  if (ranges === undefined) return offered[0]
  return best(offered, (type) => {
    const [main] = type.split('/', 1)
    return ranges.get(type) ?? ranges.get(`${main}/*`) ?? ranges.get('*/*') ?? 0
  })
}

/** The qualities of media ranges; undefined where the header names no range, or is malformed. */
function readRanges(accept: string): Map<string, number> | undefined {
  const ranges = new Map<string, number>()
  for (const { type, parameters } of readMediaTypes(accept)) {
    const quality = readQuality(parameters.get('q'))
    if (quality === undefined) return undefined
    ranges.set(type, Math.max(quality, ranges.get(type) ?? 0))
  }
  return ranges.size === 0 ? undefined : ranges
}

/** Content codings of answers, the preferred one first: zstd takes the least processor time for its compression. */
export const CODINGS = ['zstd', 'br', 'gzip'] as const
export type Coding = (typeof CODINGS)[number]

const CODING = /^[ \t]*([!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*(?:;[ \t]*q=([0-9.]+)[ \t]*)?$/i

/**
 * The content coding that a client prefers (RFC 9110 section 12.5.3).
 *
 * @param field Accept-Encoding
 * @returns undefined for no coding, also where the client refuses an answer without one
 */
export function preferredCoding(field: string | string[] | undefined): Coding | undefined {
  if (typeof field !== 'string') return undefined
  const qualities = new Map<string, number>()
  for (const element of field.split(',')) {
    const [, name, quality] = CODING.exec(element) ?? []
    if (name !== undefined) qualities.set(name.toLowerCase(), readQuality(quality) ?? 0)
  }
  const any = qualities.get('*') ?? 0
  const coding = best(CODINGS, (name) => qualities.get(name) ?? any)
  if (coding === undefined) return undefined
  const plain = qualities.get('identity') ?? 0
  return (qualities.get(coding) ?? any) >= plain ? coding : undefined
}

/** Bytes. For a smaller body, a header and a task in the thread pool cost more than compression saves. */
const MIN_COMPRESSED = 1024

/** The coding for a whole body; undefined for an uncompressed one. */
export function codingOf({ headers }: IncomingMessage, body: string | Buffer): Coding | undefined {
  const accepted = headers['accept-encoding']
  if (accepted === undefined || Buffer.byteLength(body) < MIN_COMPRESSED) return undefined
  return preferredCoding(accepted)
}

/** A weight (RFC 9110 section 12.4.2); undefined where it is malformed. */
export function readQuality(text = '1'): number | undefined {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : undefined
}

/** The first name with the highest quality; undefined where no quality is above 0. */
const best = <Name extends string>(names: readonly Name[], qualityOf: (name: Name) => number): Name | undefined =>
  names.filter((name) => qualityOf(name) > 0).toSorted((a, b) => qualityOf(b) - qualityOf(a))[0]

/** A media type with its parameters: type and names in lower case, values without their quotes. */
export interface MediaType {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const QUOTED = '"(?:[\\t !#-[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"'
const PARAMETER = `;[ \\t]*(${TOKEN})=(${TOKEN}|${QUOTED})`
/** A media type, with the blanks and empty elements before it in a list. */
const MEDIA_TYPE = new RegExp(`[ \\t,]*(${TOKEN}/${TOKEN})((?:[ \\t]*(?:${PARAMETER}|;))*)[ \\t]*(?=,|$)`, 'gy')

/**
 * Reads a Content-Type (RFC 9110 section 8.3.1).
 *
 * @returns undefined where it is malformed or gives a parameter twice
 */
export function readMediaType(text: string): MediaType | undefined {
  const list = readMediaTypes(text)
  return list.length === 1 ? list[0] : undefined
}

/** Other names of formats, by which common tools send the same files. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['application/ndjson', 'application/x-ndjson'],
  ['application/jsonl', 'application/x-ndjson'],
  ['application/x-jsonlines', 'application/x-ndjson'],
  ['application/csv', 'text/csv'],
])

/** Reads a list of media types, as in Accept. Empty where it is malformed, or gives a parameter of one type twice. */
export function readMediaTypes(text: string): MediaType[] {
  const list = elementsIn(text, MEDIA_TYPE).map(([, type = '', rest = '']) => {
    const pairs = [...rest.matchAll(new RegExp(PARAMETER, 'g'))]
    const parameters = new Map(pairs.map(([, name = '', value = '']) => [name.toLowerCase(), unquoted(value)]))
    const name = type.toLowerCase()
    return { type: SYNONYMS.get(name) ?? name, parameters, isOnce: parameters.size === pairs.length }
  })
  return list.every(({ isOnce }) => isOnce) ? list : []
}

/** The elements of a list in a header (RFC 9110 section 5.6.1), without empty ones; none where it is malformed. */
function elementsIn(list: string, element: RegExp): RegExpExecArray[] {
  const elements = [...list.matchAll(element)]
  const length = elements.reduce((sum, [text]) => sum + text.length, 0)
  return /^[ \t,]*$/.test(list.slice(length)) ? elements : []
}

const unquoted = (value: string): string =>
  value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value

/** The value of If-Match or If-None-Match: entity tags in their quotes, weak ones with their `W/`. */
export type EntityTags = '*' | readonly string[]

/** The preconditions that operations take (RFC 9110 section 13.1). */
type Preconditions = { readonly [Name in (typeof PRECONDITIONS)[number]]?: EntityTags | undefined }

/** Headers that a write must not ignore, because its client relies on them. */
export const PRECONDITIONS = ['If-Match', 'If-None-Match'] as const

/** An entity tag, with the blanks and empty elements before it in a list (RFC 9110 sections 5.6.1, 8.8.3). */
const ELEMENT = /[ \t,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/gy

/** Reads the value of If-Match or If-None-Match; undefined for a malformed one. */
export function readEntityTags(text: string): EntityTags | undefined {
  if (text === '*') return '*'
  const elements = elementsIn(text, ELEMENT)
  return elements.length === 0 ? undefined : elements.map(([, tag = '']) => tag)
}

/** The strong entity tag (RFC 9110 section 8.8.3) of a plant. */
export const plantETag = (plant: NewPlant): string => `"${versionOf(plant)}"`

/**
 * Names the form of an answer in its entity tag: with ids as texts, or in a content coding. A strong tag differs where
 * the bytes do (RFC 9110 section 8.8.3).
 *
 * @param headers of the answer, names and values in turn
 */
export function withTagOf(headers: string[], form: Coding | 'text'): string[] {
  const at = headers.indexOf('ETag') + 1
  if (at > 0) headers[at] = `${headers[at]?.slice(0, -1)}-${form}"`
  return headers
}

/**
 * The expectation of a request's preconditions. If-Match compares strongly, so weak tags never match; If-None-Match
 * compares weakly, so `W/` does not count (RFC 9110 sections 13.1.1 and 13.1.2). The form of a tag does not change the
 * version of its plant.
 */
export function expectationOf({ 'If-Match': ifMatch, 'If-None-Match': ifNoneMatch }: Preconditions): Expectation {
  if (ifMatch === undefined && ifNoneMatch === undefined) return NO_EXPECTATION
  return {
    ...(ifMatch === undefined ? {} : { at: versionsIn(ifMatch === '*' ? ifMatch : ifMatch.filter(isStrong)) }),
    ...(ifNoneMatch === undefined ? {} : { notAt: versionsIn(ifNoneMatch) }),
  }
}

const isStrong = (tag: string): boolean => tag.startsWith('"')

const versionsIn = (tags: EntityTags): Versions => (tags === '*' ? 'any' : tags.map(versionIn))

const versionIn = (tag: string): string => tag.slice(tag.indexOf('"') + 1, -1).replace(FORM, '')

const FORM = new RegExp(`(?:-text)?(?:-(?:${CODINGS.join('|')}))?$`)

/** Whether If-None-Match says that the client has the representation with this entity tag. */
export const isFresh = (ifNoneMatch: EntityTags = [], etag: string): boolean =>
  ifNoneMatch === '*' || ifNoneMatch.map(versionIn).includes(versionIn(etag))

/** Values by name, of the types of their schemas: an int64 is a bigint, and entity tags are EntityTags. */
export type Values = Readonly<Record<string, unknown>>

/** A fault of one member of a body or of one parameter; of the whole body where `member` is empty. */
export interface Fault {
  readonly member: string
  readonly message: string
}

/** A parameter of the contract, without references. */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: ParameterSchema
  readonly faultsOf: (value: unknown) => Fault[]
}

export interface ParameterSchema {
  readonly type: 'string' | 'integer' | 'boolean' | 'array'
  readonly format?: string
  readonly default?: unknown
  /** The reader replaces a larger number by this one. */
  readonly 'x-lowered-to'?: number
}

interface RequestParts {
  readonly request: Pick<IncomingMessage, 'url' | 'headers'>
  /** Percent-decoded, by their names. */
  readonly pathParameters: Readonly<Record<string, string | undefined>>
}

/** Reads the parameters of one operation, and refuses all others. */
export class ParameterReader {
  readonly #path: readonly Parameter[]
  readonly #query: ReadonlyMap<string, Parameter>
  /** With their names in lower case, as Node.js writes them. */
  readonly #headers: readonly (readonly [string, Parameter])[]
  /** Preconditions that the operation does not take, likewise. */
  readonly #unsupported: readonly (readonly [string, string])[]
  readonly #defaults: Values

  constructor(parameters: readonly Parameter[], { isWrite }: { isWrite: boolean }) {
    const of = (location: Parameter['in']) => parameters.filter((parameter) => parameter.in === location)
    this.#path = of('path')
    this.#query = new Map(of('query').map((parameter) => [parameter.name, parameter]))
    this.#headers = of('header').map((parameter) => [parameter.name.toLowerCase(), parameter])
    const taken = new Set(of('header').map(({ name }) => name))
    const unsupported = PRECONDITIONS.filter((name) => isWrite && !taken.has(name))
    this.#unsupported = unsupported.map((name) => [name.toLowerCase(), name])
    const defaults = parameters.filter(({ schema }) => schema.default !== undefined)
    this.#defaults = Object.fromEntries(defaults.map(({ name, schema }) => [name, schema.default]))
  }

  /** @throws AppError 40003 that names every fault */
  read({ request: { url = '', headers }, pathParameters }: RequestParts): Values {
    const values: Record<string, unknown> = { ...this.#defaults }
    const faults: string[] = []
    const take = (parameter: Parameter, given: string | readonly string[]) => {
      const [value, fault] = readValue(parameter, given)
      values[parameter.name] = value
      if (fault !== undefined) faults.push(`${parameter.name} ${fault}`)
    }
    for (const parameter of this.#path) take(parameter, pathParameters[parameter.name] ?? '')
    const mark = url.indexOf('?')
    const query = mark === -1 ? NO_QUERY : readQueryString(url.slice(mark + 1))
    const unknown: string[] = []
    for (const [name, texts] of query ?? NO_QUERY) {
      const parameter = this.#query.get(name)
      if (parameter === undefined) unknown.push(name)
      else if (parameter.schema.type === 'array') take(parameter, texts)
      else if (texts.length > 1) faults.push(`${name} may be given only once`)
      else take(parameter, texts[0] ?? '')
    }
    if (query === undefined) faults.push('the query is not valid percent-encoded UTF-8')
    if (unknown.length > 0) faults.push(this.#unknownFault(unknown))
    for (const [key, parameter] of this.#headers) {
      const text = headers[key]
      if (typeof text === 'string') take(parameter, text)
    }
    for (const [key, name] of this.#unsupported) {
      if (headers[key] !== undefined) faults.push(`${name} is not supported by this operation; leave it out`)
    }
    if (faults.length > 0) throw new AppError(40003, faults.join('; '))
    return values
  }

  /** Leaves out names that may be secrets, and names beyond the fifth. */
  #unknownFault(names: readonly string[]): string {
    const shown = names.filter((name) => /^[\w.[\]-]{1,30}$/.test(name)).slice(0, 5)
    const known = [...this.#query.keys()]
    const remedy = known.length === 0 ? 'this operation has none' : `this operation has ${known.join(', ')}`
    return `unknown query parameter${shown.length === 0 ? '' : ` ${shown.join(', ')}`}; ${remedy}`
  }
}

const NO_QUERY: ReadonlyMap<string, readonly string[]> = new Map()

/** Returns the value of a parameter, and its fault as the rest of a sentence that begins with its name. */
function readValue(
  { schema, faultsOf }: Parameter,
  given: string | readonly string[],
): [value: unknown, fault: string | undefined] {
  const exact = EXACT_FORMATS[schema.format ?? '']
  if (exact !== undefined && typeof given === 'string') {
    const value = exact.read(given)
    return value === undefined ? [value, `must be ${exact.says}`] : [value, undefined]
  }
  const value = typeof given === 'string' ? parsed(given, schema) : given
  // Reports the first fault only: a parameter with several values may have many.
  return [value, faultsOf(value)[0]?.message]
}

/** Returns a text that is no value of the type unchanged; the schema then refuses it. */
function parsed(text: string, { type, 'x-lowered-to': max = Number.POSITIVE_INFINITY }: ParameterSchema): unknown {
  if (type === 'integer') return /^-?\d+$/.test(text) ? Math.min(Number(text), max) : text
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

/** Formats that Ajv cannot validate: it knows neither bigint nor lists in a header. */
const EXACT_FORMATS: Readonly<Record<string, { read: (text: string) => unknown; says: string }>> = {
  int64: {
    read: readInt64,
    says: `an integer from ${MIN_ID} to ${MAX_ID}, in plain decimal without plus sign or leading zeros`,
  },
  'entity-tags': { read: readEntityTags, says: '* or a list of entity tags, each in double quotes' },
}

/** Accepts one spelling of each integer, so that each plant has one path. */
function readInt64(text: string): bigint | undefined {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return undefined
  const value = BigInt(text)
  return value < MIN_ID || value > MAX_ID ? undefined : value
}

/**
 * The Idempotency-Key of a request, without quotes. draft-ietf-httpapi-idempotency-key-header demands quotes, but many
 * clients send none.
 */
export const keyIn = (parameters: { readonly 'Idempotency-Key'?: string | undefined }): string | undefined =>
  parameters['Idempotency-Key']?.replaceAll('"', '')

/**
 * The parameters of a query string, each with its texts in order, as HTML forms encode them.
 *
 * @returns undefined where the query is not valid percent-encoded UTF-8, which URLSearchParams would repair
 */
export function readQueryString(query: string): Map<string, string[]> | undefined {
  try {
    decodeURIComponent(query)
  } catch {
    return undefined
  }
  // URLSearchParams leaves a question mark at the beginning out.
  const pairs = Map.groupBy(new URLSearchParams(`?${query}`), ([name]) => name)
  return new Map([...pairs].map(([name, each]) => [name, each.map(([, text]) => text)]))
}

/** Writes a query string that readQueryString reads as these parameters. */
export function writeQueryString(parameters: readonly (readonly [name: string, text: string])[]): string {
  return parameters.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
}
