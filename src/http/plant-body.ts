import { AppError } from '../errors.ts'
import { isObject, type JsonBody, type JsonSubject, readJsonBody } from '../json-body.ts'
import type { NewPlant } from '../plant.ts'
import type { PlantPatch } from '../store.ts'
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
  if (typeof id !== 'bigint' || faults.length > 0) {
    throw invalid([...idFaults(faults, id), ...othersOf(faults)], body.subject)
  }
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

/**
 * The plant that a body puts under the id of the path.
 *
 * @throws AppError 40002 that names every fault of the body
 */
export function readReplacement(body: JsonBody, operation: Operation, id: bigint): NewPlant {
  refuseFaults(body, operation, id)
  const { name, tag } = body.value as { name: string; tag?: string }
  return { id, name, tag }
}

/**
 * What a merge patch (RFC 7396) changes of the plant with the id of the path.
 *
 * @throws AppError 40002 that names every fault of the body
 */
export function readPatch(body: JsonBody, operation: Operation, id: bigint): PlantPatch {
  refuseFaults(body, operation, id)
  const { name, tag } = body.value as { name?: string; tag?: string | null }
  return { ...(name === undefined ? {} : { name }), ...(tag === undefined ? {} : { tag }) }
}

function refuseFaults(body: JsonBody, operation: Operation, id: bigint): void {
  const faults = othersOf(operation.faultsOf(body.value))
  const isAnother = isObject(body.value) && Object.hasOwn(body.value, 'id') && body.int64('id') !== id
  if (isAnother) faults.unshift({ member: 'id', message: `must be ${id} as in the path, or be left out` })
  if (faults.length > 0) throw invalid(faults, body.subject)
}

/** The exact reading of the id has the last word on it where it is a number at all. */
function idFaults(faults: readonly Fault[], id: ReturnType<JsonBody['int64']>): Fault[] {
  const missing = faults.filter(({ member, message }) => member === 'id' && message === 'is required')
  const isRecord = !faults.some(({ member }) => member === '')
  if (typeof id === 'bigint' || !isRecord || missing.length > 0) return missing
  return [{ member: 'id', message: ID_FAULTS[id] }]
}

const othersOf = (faults: readonly Fault[]): Fault[] => faults.filter(({ member }) => member !== 'id')

const invalid = (faults: readonly Fault[], subject: JsonSubject): AppError =>
  new AppError(40002, faults.map(({ member, message }) => `${member || `the ${subject}`} ${message}`).join('; '))

const ID_FAULTS = {
  'not an integer': 'must be an integer, as a JSON number',
  'out of range': 'must be from -9223372036854775808 to 9223372036854775807',
} as const
