import { AppError } from '../errors.ts'
import { type JsonBody, type JsonSubject, readJsonBody } from '../json-body.ts'
import type { NewPlant } from '../plant.ts'
import type { Contract, Operation } from './contract.ts'
import type { Fault } from './faults.ts'

/**
 * The plant in a body. Members that a plant does not have are left behind here.
 *
 * @throws AppError 40002 that names every fault of the body
 */
export function readNewPlant(body: JsonBody, operation: Operation): NewPlant {
  const id = body.int64('id')
  const faults = operation.faultsOf(body.value)
  if (typeof id !== 'bigint' || faults.length > 0) throw invalid(faults, id, body.subject)
  const { name, tag } = body.value as { name: string; tag?: string }
  return { id, name, tag }
}

/**
 * What reads one row of a file: a row is what the body of a create is, and is refused for the same reasons.
 *
 * @returns throws as readJsonBody and readNewPlant do
 */
export function rowReader({ operations }: Contract, nestingLimit: number): (json: Buffer) => NewPlant {
  const create = operations.find(({ id }) => id === 'createPlant')
  if (create === undefined) throw new Error('the contract has no operation createPlant')
  return (json) => readNewPlant(readJsonBody(json, nestingLimit, 'row'), create)
}

/** The exact reading of the id has the last word on it where it is a number at all. */
function invalid(faults: readonly Fault[], id: ReturnType<JsonBody['int64']>, subject: JsonSubject): AppError {
  const aboutId = faults.filter(({ member, message }) => member === 'id' && message === 'is required')
  const others = faults.filter(({ member }) => member !== 'id')
  const isRecord = !faults.some(({ member }) => member === '')
  if (typeof id !== 'bigint' && isRecord && aboutId.length === 0) aboutId.push({ member: 'id', message: ID_FAULTS[id] })
  const words = [...aboutId, ...others].map(({ member, message }) => `${member || `the ${subject}`} ${message}`)
  return new AppError(40002, words.join('; '))
}

const ID_FAULTS = {
  'not an integer': 'must be an integer, as a JSON number',
  'out of range': 'must be from -9223372036854775808 to 9223372036854775807',
} as const
