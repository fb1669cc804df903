import { AppError } from '../../domain/errors.ts'
import { MAX_ID, MIN_ID } from '../../domain/plant.ts'
import type { Exchange } from '../exchange.ts'
import { type EntityTags, PRECONDITIONS, readEntityTags } from './entity-tags.ts'
import { readQueryString } from './query-string.ts'
import type { Fault } from './validation-messages.ts'

/** Values by name, of the types of their schemas: an int64 is a bigint, and entity tags are EntityTags. */
export type Values = Readonly<Record<string, unknown>>

/** A parameter of the contract, without references. */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
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

/** Reads the parameters of one operation, and refuses all others. */
export class ParameterReader {
  readonly #path: readonly Parameter[]
  readonly #query: ReadonlyMap<string, Parameter>
  /** With their names in lower case, as Node.js writes them. */
  readonly #headers: readonly (readonly [string, Parameter])[]
  /** Preconditions that the operation does not take: names in lower case, and as the contract writes them. */
  readonly #unsupported: readonly (readonly [string, string])[]
  readonly #defaults: Values

  /** @throws Error where the contract has a rule that this class does not enforce */
  constructor(parameters: readonly Parameter[], { isWrite }: { isWrite: boolean }) {
    const of = (location: Parameter['in']) => parameters.filter((parameter) => parameter.in === location)
    const faulty = parameters.find(({ in: location, required = false }) => required !== (location === 'path'))
    if (faulty !== undefined)
      throw new Error(`the parameter ${faulty.name} must be required in the path, and only there`)
    this.#path = of('path')
    this.#query = new Map(of('query').map((parameter) => [parameter.name, parameter]))
    this.#headers = of('header').map((parameter) => [parameter.name.toLowerCase(), parameter])
    const unsupported = isWrite
      ? PRECONDITIONS.filter((name) => !of('header').some((taken) => taken.name === name))
      : []
    this.#unsupported = unsupported.map((name) => [name.toLowerCase(), name])
    const defaults = parameters.filter(({ schema }) => schema.default !== undefined)
    this.#defaults = Object.fromEntries(defaults.map(({ name, schema }) => [name, schema.default]))
  }

  /** @throws AppError 40003 that names every fault */
  read({ request: { url = '', headers }, pathParameters }: Exchange): Values {
    const values: Record<string, unknown> = { ...this.#defaults }
    const faults: string[] = []
    for (const parameter of this.#path) {
      take(parameter, pathParameters[parameter.name] ?? '', values, faults)
    }
    const mark = url.indexOf('?')
    if (mark !== -1) this.#readQuery(url.slice(mark + 1), values, faults)
    for (const [key, parameter] of this.#headers) {
      const text = headers[key]
      if (typeof text === 'string') take(parameter, text, values, faults)
    }
    for (const [key, name] of this.#unsupported) {
      if (headers[key] !== undefined) faults.push(`${name} is not supported by this operation; leave it out`)
    }
    if (faults.length > 0) throw new AppError(40003, faults.join('; '))
    return values
  }

  #readQuery(query: string, values: Record<string, unknown>, faults: string[]): void {
    const all = readQueryString(query)
    if (all === undefined) {
      faults.push('the query is not valid percent-encoded UTF-8')
      return
    }
    const unknown: string[] = []
    for (const [name, texts] of all) {
      const parameter = this.#query.get(name)
      if (parameter === undefined) unknown.push(name)
      else if (parameter.schema.type === 'array') check(parameter, texts, values, faults)
      else if (texts.length > 1) faults.push(`${name} may be given only once`)
      else take(parameter, texts[0] ?? '', values, faults)
    }
    if (unknown.length > 0) faults.push(this.#unknownFault(unknown))
  }

  /** Leaves out names that may be secrets, and names beyond the fifth. */
  #unknownFault(names: readonly string[]): string {
    const shown = names.filter((name) => /^[\w.[\]-]{1,30}$/.test(name)).slice(0, 5)
    const known = [...this.#query.keys()]
    const remedy = known.length === 0 ? 'this operation has none' : `this operation has ${known.join(', ')}`
    return `unknown query parameter${shown.length === 0 ? '' : ` ${shown.join(', ')}`}; ${remedy}`
  }
}

function take(parameter: Parameter, text: string, values: Record<string, unknown>, faults: string[]): void {
  const { name, schema } = parameter
  const exact = schema.format === undefined ? undefined : EXACT_FORMATS[schema.format]
  if (exact === undefined) {
    check(parameter, parsed(text, schema), values, faults)
  } else {
    const value = exact.read(text)
    if (value === undefined) faults.push(`${name} must be ${exact.says}`)
    else values[name] = value
  }
}

function check({ name, faultsOf }: Parameter, value: unknown, values: Record<string, unknown>, faults: string[]): void {
  values[name] = value
  // Reports the first fault only: a parameter with several values may have many.
  const [fault] = faultsOf(value)
  if (fault !== undefined) faults.push(`${name} ${fault.message}`)
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

/** Functions that give a value of ParameterReader its type. Each throws where the contract and the reader disagree. */
export const typed = {
  int64: (value: unknown): bigint => (typeof value === 'bigint' ? value : mismatch(value)),
  number: (value: unknown): number => (typeof value === 'number' ? value : mismatch(value)),
  boolean: (value: unknown): boolean => (typeof value === 'boolean' ? value : mismatch(value)),
  string: (value: unknown): string => (typeof value === 'string' ? value : mismatch(value)),
  strings(value: unknown): readonly string[] {
    const texts: readonly unknown[] = Array.isArray(value) ? value : mismatch(value)
    return texts.every((text) => typeof text === 'string') ? texts : mismatch(value)
  },
  entityTags: (value: unknown): EntityTags => (value === '*' ? value : typed.strings(value)),
  oneOf: <Choice extends string>(choices: readonly Choice[], value: unknown): Choice =>
    choices.find((choice) => choice === value) ?? mismatch(value),
  optionalOneOf: <Choice extends string>(choices: readonly Choice[], value: unknown): Choice | undefined =>
    value === undefined ? undefined : typed.oneOf(choices, value),
  optional: <T>(read: (value: unknown) => T, value: unknown): T | undefined =>
    value === undefined ? undefined : read(value),
}

function mismatch(value: unknown): never {
  throw new Error(`a parameter has a value of type ${typeof value}, against the contract`)
}

/**
 * The Idempotency-Key of a request, without quotes. draft-ietf-httpapi-idempotency-key-header demands quotes, but many
 * clients send none.
 */
export const keyIn = (parameters: { readonly 'Idempotency-Key': string | undefined }): string | undefined =>
  parameters['Idempotency-Key']?.replaceAll('"', '')
