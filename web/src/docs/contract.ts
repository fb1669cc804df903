import { OPERATIONS } from '../../../client/src/contract.generated.ts'
import { judge } from '../../../client/src/judge.ts'
import { SERVICE } from '../page/service.ts'

/** A value of JSON. An integer that a number could round is a bigint. */
export type Json = string | boolean | null | number | bigint | readonly Json[] | { readonly [member: string]: Json }

// What this page reads of the contract, an OpenAPI 3.1 document; it comes from the service that serves the page.

interface Reference {
  readonly $ref: string
}

export interface Schema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly required?: readonly string[]
  readonly items?: { readonly type?: string; readonly $ref?: string }
  readonly properties?: Readonly<Record<string, Schema | Reference>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description?: string
  readonly required?: boolean
  readonly example?: Json
  readonly schema: Schema | Reference
}

export interface Media {
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>
}

export interface RequestBody {
  readonly content: Readonly<Record<string, Media>>
  readonly description?: string
  readonly 'x-streamed'?: boolean
}

interface AnswerContract {
  readonly description: string
  readonly content?: Readonly<Record<string, Media>>
}

type Security = readonly Readonly<Record<string, readonly string[]>>[]

interface PathOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly security?: Security
  readonly parameters?: readonly (Parameter | Reference)[]
  readonly requestBody?: RequestBody
  readonly responses: Readonly<Record<string, AnswerContract | Reference>>
  readonly 'x-errors': readonly number[]
  readonly 'x-scopes'?: readonly string[]
}

export interface Contract {
  readonly info: { readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly security?: Security
  /** What each number of a refusal means. */
  readonly 'x-errors': Readonly<Record<string, string>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, PathOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly responses: Readonly<Record<string, AnswerContract>>
  }
}

export interface Operation extends PathOperation {
  readonly method: string
  readonly path: string
  readonly security: Security
  readonly parameters: readonly Parameter[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/**
 * Reads the contract of the service that serves this page.
 *
 * @throws Error when the service answers anything else
 */
export async function readContract(): Promise<Contract> {
  const response = await fetch(`${SERVICE}/openapi.json`, { cache: 'no-cache', redirect: 'manual' })
  const answer = await judge(OPERATIONS.getContract, response)
  if ('number' in answer) throw new Error(answer.message)
  return answer.value as Contract
}

export function operationsOf({ paths, security = [], components }: Contract): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      if (operation === undefined) return []
      const parameters = (operation.parameters ?? []).map((one) => resolved(components.parameters, one))
      return [{ security, ...operation, method: method.toUpperCase(), path, parameters }]
    }),
  )
}

/** Follows a reference into its part of the document, if it is one. */
export function resolved<Part extends object>(parts: Readonly<Record<string, Part>>, object: Part | Reference): Part {
  if (!('$ref' in object)) return object
  const name = object.$ref.split('/').at(-1) ?? ''
  const found = parts[name]
  if (found === undefined) throw new Error(`the contract has no ${name}`)
  return found
}

/** The text of the contract's first example for a body; an empty text without one. */
export function exampleText(media: Media | undefined): string {
  const [example] = Object.values(media?.examples ?? {})
  if (example === undefined) return ''
  return typeof example.value === 'string' ? example.value : formatExact(example.value)
}

/** Marks the text of a bigint, as JSON.stringify writes no bigint. No text of the contract has U+0000. */
const MARK = '\u0000'

function formatExact(value: Json): string {
  const marked = (_key: string, part: unknown) => (typeof part === 'bigint' ? MARK + part : part)
  return JSON.stringify(value, marked, 2).replaceAll(/"\\u0000(-?\d+)"/g, '$1')
}
