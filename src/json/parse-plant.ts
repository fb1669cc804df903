import { AppError } from '../domain/errors.ts'
import {
  ID_RANGE,
  type NewPlant,
  type PlantCandidate,
  type PlantPatch,
  validatePatch,
  validatePlant,
} from '../domain/plant.ts'
import { type JsonBody, readJsonBody } from './body.ts'

/**
 * Reads the plant in a JSON text. Ignores unknown members.
 *
 * @throws AppError 40002 that names every fault
 */
export function parsePlant(json: JsonBody): NewPlant {
  requireObject(json)
  return validatePlant({ id: idIn(json), name: json.text('name'), tag: json.text('tag') })
}

/**
 * Reads the plant in one row of a file, by the same rule as the body of a create.
 *
 * @param sizeLimit bytes of the row besides long texts
 * @throws AppError 40001, 40002 or 41301
 */
export const parseRow = (json: Buffer, nestingLimit: number, sizeLimit: number): NewPlant =>
  parsePlant(readJsonBody(json, nestingLimit, { subject: 'row', sizeLimit }))

/**
 * Reads the plant that a body puts under the id of the path.
 *
 * @throws AppError 40002 that names every fault
 */
export function parseReplacement(json: JsonBody, id: bigint): NewPlant {
  requireObject(json)
  return validatePlant({ id: idAsInPath(json, id), name: json.text('name'), tag: json.text('tag') })
}

/**
 * Reads the changes of a merge patch (RFC 7396) for the plant with the id of the path.
 *
 * @throws AppError 40002 that names every fault
 */
export function parsePatch(json: JsonBody, id: bigint): PlantPatch {
  requireObject(json)
  return validatePatch({ id: idAsInPath(json, id), name: json.text('name'), tag: json.text('tag') })
}

function requireObject({ isObject, subject }: JsonBody): void {
  if (!isObject) throw new AppError(40002, `the ${subject} must be an object`)
}

function idIn(json: JsonBody): PlantCandidate['id'] {
  if (!json.has('id')) return undefined
  const id = json.int64('id')
  return typeof id === 'bigint' ? id : ID_FAULTS[id]
}

function idAsInPath(json: JsonBody, id: bigint): PlantCandidate['id'] {
  return !json.has('id') || json.int64('id') === id ? id : `must be ${id} as in the path, or left out`
}

const ID_FAULTS = { 'not an integer': 'must be an integer, as a JSON number', 'out of range': ID_RANGE } as const
