import { AppError } from './errors.ts'
import { covers, outside, type Part } from './part.ts'

/** A plant without its id. */
export interface Plant {
  readonly name: string
  /** Absent (`undefined`) and empty (`''`) are different values. */
  readonly tag: string | undefined
}

/** A plant with its id, as clients send and read it. The id is any int64, so a bigint and never a double. */
export interface NewPlant extends Plant {
  readonly id: bigint
}

export interface ImportedPlant extends NewPlant {
  /**
   * What an import in mode `update` or `delete` must find under the id, so that it overwrites nobody's change; undefined:
   * anything.
   */
  readonly before?: Plant
}

/** A partial update. Absent members stay as they are. */
export interface PlantPatch {
  readonly name?: string
  /** `null` removes the tag. */
  readonly tag?: string | null
}

export const MIN_ID = -(2n ** 63n)
export const MAX_ID = 2n ** 63n - 1n

/** The parts of a plant before validation. */
export interface PlantCandidate {
  /** Undefined for an absent id. A string says what the id must be, for an id that is not an int64. */
  readonly id: bigint | string | undefined
  readonly name: unknown
  readonly tag: unknown
}

/**
 * The only rule for plants: bodies of requests, rows of files and rows of a table all pass it.
 *
 * @param show quotes a refused text for the message. By default the message has no text, as messages about bodies are
 *   logged
 * @throws AppError 40002 that names every fault
 */
export function validatePlant({ id, name, tag }: PlantCandidate, show?: (text: string) => string): NewPlant {
  if (isInt64(id) && isName(name) && (tag === undefined || isTag(tag))) return { id, name, tag }
  const nameFault = name === undefined ? 'name is required' : textFault('name', name, 'a string', show)
  throw invalid(idFault(id), nameFault, textFault('tag', tag, 'a string', show))
}

/**
 * The plant to delete in a row of an import: any with the id, or exactly the one that the row has.
 *
 * @throws AppError 40002 that names every fault
 */
export function deletedPlant(row: PlantCandidate, show?: (text: string) => string): ImportedPlant {
  const isWhole = row.name !== undefined || row.tag !== undefined
  const { id, name, tag } = validatePlant(isWhole ? row : { ...row, name: '' }, show)
  return isWhole ? { id, name, tag, before: { name, tag } } : { id, name, tag }
}

/** Returns why a plant that was stored before the rule breaks it; undefined if it does not. */
export function faultOf(plant: NewPlant): AppError | undefined {
  try {
    validatePlant(plant)
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

/**
 * The same rule for a change of a plant: an absent member stays as it is, and null removes the tag.
 *
 * @throws AppError 40002 that names every fault
 */
export function validatePatch({ id, name, tag }: PlantCandidate): PlantPatch {
  if (isInt64(id) && (name === undefined || isName(name)) && (tag === undefined || tag === null || isTag(tag))) {
    return { ...(name === undefined ? {} : { name }), ...(tag === undefined ? {} : { tag }) }
  }
  const tagFault = tag === null ? undefined : textFault('tag', tag, 'a string or null')
  throw invalid(idFault(id), textFault('name', name, 'a string'), tagFault)
}

export const isInt64 = (id: PlantCandidate['id']): id is bigint =>
  typeof id === 'bigint' && id >= MIN_ID && id <= MAX_ID

/**
 * Characters (code points). The longest name of 18 real lists of plants has 105. Every bound on memory and time that
 * counts plants relies on these two.
 */
export const MAX_NAME = 1000
export const MAX_TAG = 200

const isName = (value: unknown): value is string => isText(value, MAX_NAME)
export const isTag = (value: unknown): value is string => isText(value, MAX_TAG)

/** Not every database can store U+0000 and lone surrogates. */
const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && !isLongerThan(value, max) && value.isWellFormed() && !value.includes('\0')

/** Counts code points only where UTF-16 units do not decide. */
export const isLongerThan = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max)

export const ID_RANGE = `must be from ${MIN_ID} to ${MAX_ID}`

function idFault(id: PlantCandidate['id']): string | undefined {
  if (isInt64(id)) return undefined
  return `id ${id === undefined ? 'is required' : typeof id === 'string' ? id : ID_RANGE}`
}

function textFault(
  member: 'name' | 'tag',
  value: unknown,
  type: string,
  show?: (text: string) => string,
): string | undefined {
  const max = member === 'name' ? MAX_NAME : MAX_TAG
  if (value === undefined || isText(value, max)) return undefined
  if (typeof value !== 'string') return `${member} must be ${type}`
  if (isLongerThan(value, max)) return `${member} must have at most ${max} characters`
  const found = show === undefined ? '' : `, as ${show(value)} does`
  return `${member} must not contain U+0000 or a lone surrogate${found}`
}

const invalid = (...faults: (string | undefined)[]): AppError =>
  new AppError(40002, faults.filter((fault) => fault !== undefined).join('; '))

/** UTF-16 units of the texts of a plant, as a measure of the time that an index needs for them. */
export const textLength = ({ name, tag }: Plant): number => name.length + (tag?.length ?? 0)

/** The JSON text of a plant without its id. Leaves out an absent tag. */
export function plantJson(plant: Plant): string {
  return JSON.stringify({ name: plant.name, tag: plant.tag })
}

/**
 * The JSON text of a plant with all digits of its id. Leaves out an absent tag. Concatenation takes 0.6 of the time of
 * JSON.stringify with the id as JSON.rawJSON.
 */
export function newPlantJson({ id, name, tag }: NewPlant): string {
  const start = `{"id":${id},"name":${JSON.stringify(name)}`
  return tag === undefined ? `${start}}` : `${start},"tag":${JSON.stringify(tag)}}`
}

/**
 * The version of a plant: 16 hexadecimal digits that follow from id, name and tag alone. Every operation, engine and
 * instance gives equal plants the same version. docs/decisions/0005-etag.md gives the reason for this hash.
 */
export function versionOf(plant: NewPlant): string {
  // U+0000 cannot occur in a name or tag, so it separates them. The `=` tells an empty tag from an absent one.
  return hash64(`${plant.id}\0${plant.name}\0${plant.tag === undefined ? '' : `=${plant.tag}`}`)
}

/** `any` is every version. */
export type Versions = 'any' | readonly string[]

export interface Expectation {
  /** The plant exists, at one of these versions. */
  readonly at?: Versions
  /** The plant does not exist, or is at none of these versions. */
  readonly notAt?: Versions
}

/** Holds for every plant, and for an absent one. */
export const NO_EXPECTATION: Expectation = {}

export function isAt(versions: Versions, plant: NewPlant | undefined): boolean {
  if (plant === undefined) return false
  return versions === 'any' || versions.includes(versionOf(plant))
}

/**
 * Checks the expectation of a write, inside its transaction.
 *
 * @param plant the present plant; undefined when there is none
 * @throws AppError 41201 when the expectation does not hold
 */
export function checkExpectation({ at, notAt }: Expectation, id: bigint, plant: NewPlant | undefined): void {
  if (at !== undefined && !isAt(at, plant)) throw plant === undefined ? absent(id) : changed(id)
  if (notAt !== undefined && isAt(notAt, plant)) throw notAt === 'any' ? existing(id) : excluded(id)
}

/** The refusal of a write that demands that there is no plant with this id. */
export const existing = (id: bigint): AppError =>
  new AppError(41201, `a plant with the id ${id} exists; nothing was changed`)
const absent = (id: bigint): AppError => new AppError(41201, `there is no plant with the id ${id}; nothing was changed`)
const changed = (id: bigint): AppError =>
  new AppError(41201, `the plant with the id ${id} has changed since you read it; nothing was changed, read it again`)
const excluded = (id: bigint): AppError =>
  new AppError(41201, `the plant with the id ${id} is at a version that you excluded; nothing was changed`)

/**
 * Hashes a text to 64 bits as 16 hexadecimal digits: MurmurHash3_x86_32 with two seeds. It takes a fraction of the time
 * of a cryptographic hash, but does not resist deliberate collisions.
 */
export function hash64(text: string): string {
  const [high, low] = murmur3(text, 0x9747b28c, 0x3c6ef372)
  return `${hex32(high)}${hex32(low)}`
}

/**
 * MurmurHash3_x86_32 of the text's UTF-16LE bytes (Austin Appleby, public domain; smhasher `MurmurHash3.cpp`), with two
 * seeds at once. That takes little more time than one seed.
 */
export function murmur3(text: string, seedA: number, seedB: number): [number, number] {
  const length = text.length
  let a = seedA
  let b = seedB
  let i = 0
  for (; i + 1 < length; i += 2) {
    const block = scramble(text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16))
    a = mix(a ^ block)
    b = mix(b ^ block)
  }
  if (i < length) {
    const block = scramble(text.charCodeAt(i))
    a ^= block
    b ^= block
  }
  return [finish(a ^ (length * 2)), finish(b ^ (length * 2))]
}

function mix(hash: number): number {
  return (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0
}

function finish(hash: number): number {
  const first = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35)
  return (second ^ (second >>> 16)) >>> 0
}

function scramble(block: number): number {
  const mixed = Math.imul(block, 0xcc9e2d51)
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593)
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Eight digits; a quarter of the time of `toString(16).padStart(8, '0')`. */
const hex32 = (value: number): string =>
  `${HEX[value >>> 24]}${HEX[(value >>> 16) & 0xff]}${HEX[(value >>> 8) & 0xff]}${HEX[value & 0xff]}`

/** `created`: the plant is new. `unchanged`: an equal plant exists, so that a repeated create has the same answer. */
export type CreateResult = 'created' | 'unchanged'

export interface CreateOptions {
  /** Refuses an id that exists, even with an equal plant. */
  readonly mustBeNew: boolean
}

/**
 * The treatment of existing ids by an import. `add`: as by a create, put if absent or equal. `update`: the imported
 * plant replaces the one in the store, if that is as the `before` of the imported one says. `delete`: removes the plant
 * under the id, if it is as `before` says; name and tag of the imported one do not count.
 */
export const IMPORT_MODES = ['add', 'update', 'delete'] as const
export type ImportMode = (typeof IMPORT_MODES)[number]

/** The result of one imported plant. An AppError means that this plant alone was refused and nothing changed. */
export type ImportResult = 'added' | 'updated' | 'deleted' | 'unchanged' | AppError

/** A write that depends on the present plant; an engine decides it inside its transaction. */
export type PlantChange =
  | { readonly kind: 'replace'; readonly plant: NewPlant; readonly expected: Expectation }
  | { readonly kind: 'update'; readonly id: bigint; readonly patch: PlantPatch; readonly expected: Expectation }
  | { readonly kind: 'delete'; readonly id: bigint; readonly expected: Expectation }

/** The outcome of a change. `plant` is the whole plant after it. */
export type ChangeOutcome =
  | { readonly result: 'created' | 'replaced' | 'updated'; readonly plant: NewPlant }
  | { readonly result: 'deleted' }

/** The treatment of existing ids by a put. `new`: the put refuses them. The others are those of ImportMode. */
export type PutMode = ImportMode | 'new'

/** The outcome of a put, which is a create or an imported plant. `exists`, `conflict` and `changed` are refusals. */
export type PutOutcome = 'created' | 'updated' | 'deleted' | 'unchanged' | 'exists' | 'conflict' | 'changed'

export const idOf = (change: PlantChange): bigint => (change.kind === 'replace' ? change.plant.id : change.id)

/** Whether two plants are equal apart from their ids. An absent plant equals only an absent one. */
export const isEqual = (one: Plant | undefined, other: Plant | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && one.name === other.name && one.tag === other.tag)

/**
 * Decides the outcome of a replace, update or delete.
 *
 * @param present the plant that has the id; undefined when there is none
 * @param part that of the actor, for whom no plant outside of it exists, except that it has its id
 * @throws AppError 40402 when an update or a delete finds no plant, 41201 when the expectation does not hold, 40303 when
 *   the plant would leave the part, 40901 for a replace of a plant outside of it
 */
export function decideChange(change: PlantChange, present: NewPlant | undefined, part?: Part): ChangeOutcome {
  const id = idOf(change)
  const isOutside = present !== undefined && !covers(part, present.tag)
  if (change.kind === 'replace') {
    if (!covers(part, change.plant.tag)) throw outside(id)
    if (isOutside) throw otherPlant(id)
    checkExpectation(change.expected, id, present)
    return { result: present === undefined ? 'created' : 'replaced', plant: change.plant }
  }
  // Before the expectation, because 41201 would hide that the plant is absent.
  if (present === undefined || isOutside) throw new AppError(40402, `there is no plant with the id ${id}`)
  checkExpectation(change.expected, id, present)
  if (change.kind === 'delete') return { result: 'deleted' }
  const plant = patched(present, change.patch)
  if (!covers(part, plant.tag)) throw outside(id)
  return { result: 'updated', plant }
}

function patched({ id, name, tag }: NewPlant, patch: PlantPatch): NewPlant {
  return { id, name: patch.name ?? name, tag: patch.tag === undefined ? tag : (patch.tag ?? undefined) }
}

/**
 * Decides the outcome of a put.
 *
 * @param present the plant that has the id; undefined when there is none
 * @param part that of the actor, which has the plant to put
 */
export function decidePut(
  mode: PutMode,
  plant: Omit<ImportedPlant, 'id'>,
  present: Plant | undefined,
  part?: Part,
): PutOutcome {
  if (present !== undefined && !covers(part, present.tag)) return mode === 'delete' ? 'unchanged' : 'conflict'
  if (mode === 'delete') {
    // A plant that is gone counts as unchanged, so that a repeated import is not refused.
    if (present === undefined) return 'unchanged'
    return plant.before === undefined || isEqual(plant.before, present) ? 'deleted' : 'changed'
  }
  const expected = expectedBy(mode, plant)
  if (present === undefined) return expected === undefined ? 'created' : 'changed'
  if (mode === 'new') return 'exists'
  // Before the expectation, so that a repeated import has the same result.
  if (isEqual(plant, present)) return 'unchanged'
  if (expected !== undefined && !isEqual(expected, present)) return 'changed'
  return mode === 'update' ? 'updated' : 'conflict'
}

/** What a put must find under its id; undefined where it may find anything. Only an update overwrites what it finds. */
export const expectedBy = (mode: PutMode, { before }: Omit<ImportedPlant, 'id'>): Plant | undefined =>
  mode === 'update' ? before : undefined

export function createResult(outcome: PutOutcome, id: bigint): CreateResult | AppError {
  return outcome === 'created' || outcome === 'unchanged' ? outcome : refusal(outcome, id)
}

export function importResult(outcome: PutOutcome, id: bigint): ImportResult {
  if (outcome === 'created') return 'added'
  return outcome === 'updated' || outcome === 'deleted' || outcome === 'unchanged' ? outcome : refusal(outcome, id)
}

function refusal(outcome: PutOutcome, id: bigint): AppError {
  if (outcome === 'exists') return existing(id)
  return outcome === 'changed'
    ? new AppError(41201, `the plant with the id ${id} is not as the row expects; nothing was changed, read it again`)
    : otherPlant(id)
}

const otherPlant = (id: bigint): AppError =>
  new AppError(40901, `the id ${id} belongs to a different plant; nothing was changed`)
