import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { readAsset } from '../../base/assets.ts'
import type { AppError } from '../../domain/errors.ts'
import { DATE_TIME, type Scope } from '../../domain/token.ts'
import { type Fault, type Parameter, ParameterReader } from './head.ts'

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH'

/** What the service needs of an operation of the contract, as scripts/contract-source.ts compiles it. */
export interface CompiledOperation {
  readonly id: string
  readonly method: Method
  /** With parameters in braces, as in the contract. */
  readonly path: string
  readonly summary: string
  /** The scopes that a token needs; undefined: the operation needs no token. */
  readonly scopes?: readonly Scope[] | undefined
  /** Whether a token with a part of the store may not use it. */
  readonly isOfWholeStore: boolean
  /** Whether it needs no token where the service has a public view. */
  readonly isPublic: boolean
  readonly parameters: readonly CompiledParameter[]
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

/** Its schema has no references. */
export type CompiledParameter = Omit<Parameter, 'faultsOf'>

export interface Operation extends Omit<CompiledOperation, 'parameters'> {
  readonly parameters: ParameterReader
  /** Writes the JSON of a refusal, where another specification than the contract has a form for it. */
  readonly refusalJson?: (refusal: AppError, messageId: string | undefined) => string
}

export interface Contract {
  /** As OpenAPI. */
  readonly document: object
  readonly operations: readonly Operation[]
}

/** Reads the JSON that `npm run generate` made of openapi.yaml. `npm run check` fails where the two differ. */
export function readContract(): Contract {
  const asset = readAsset(new URL('contract.generated.json', import.meta.url))
  const { document, operations } = JSON.parse(asset.toString()) as { document: object; operations: CompiledOperation[] }
  const ajv = newAjv()
  return { document, operations: operations.map((operation) => readable(operation, ajv)) }
}

/** An operation that another specification than the contract defines. It needs no token unless it has scopes. */
export const foreignOperation = (
  given: Pick<Operation, 'id' | 'method' | 'path'> & Partial<CompiledOperation & Pick<Operation, 'refusalJson'>>,
): Operation =>
  readable({
    summary: '',
    isOfWholeStore: false,
    isPublic: false,
    parameters: [],
    mediaTypes: [],
    isBodyOptional: false,
    produces: [],
    vary: '',
    isStreamed: false,
    ...given,
  })

function readable(operation: CompiledOperation, ajv?: Ajv2020): Operation {
  const parameters = operation.parameters.map((parameter) => ({ ...parameter, faultsOf: faultFinder(parameter, ajv) }))
  return { ...operation, parameters: new ParameterReader(parameters, { isWrite: operation.method !== 'GET' }) }
}

/** Compiles the schema with its first value: all of them would take a quarter of a start. */
function faultFinder({ schema }: CompiledParameter, ajv = newAjv()): (value: unknown) => Fault[] {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= ajv.compile(schema)
    return validate(value) ? [] : (validate.errors ?? []).map(faultOf)
  }
}

/**
 * Makes a compiler of schemas of the contract. It accepts every `int64` and `entity-tags`, because the code that reads
 * such values checks them. A test checks that the schemas are valid; a check here would take a fifth of the time that
 * the service needs to start.
 */
export const newAjv = (): Ajv2020 =>
  new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: true,
    allowUnionTypes: true,
    validateSchema: false,
    keywords: ['x-pattern-says', 'x-lowered-to'],
    formats: {
      int64: { type: 'number', validate: () => true },
      int32: { type: 'number', validate: (value: number) => value >= -(2 ** 31) && value < 2 ** 31 },
      'entity-tags': true,
      'date-time': DATE_TIME,
    },
  })

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
    case 'maximum':
      return `must be at most ${params['limit']}`
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
