import { isUtf8 } from 'node:buffer'
import { AppError } from '../domain/errors.ts'
import {
  deletedPlant,
  ID_RANGE,
  type ImportedPlant,
  type ImportMode,
  MAX_ID,
  MIN_ID,
  type NewPlant,
  type PlantCandidate,
  type PlantPatch,
  validatePatch,
  validatePlant,
} from '../domain/plant.ts'
import { JsonFault, JsonScanner, MAX_DEPTH } from './scanner.ts'

/** The origin of a JSON text: the whole body of a request, one row of a file, or the value of a member. */
type JsonSubject = 'body' | 'row' | 'value'

export interface JsonOptions {
  readonly subject?: JsonSubject
  /** Whether an int64 may also be a text with its plain decimal. */
  readonly textIds?: boolean
}

/**
 * Reads a JSON text (RFC 8259) strictly. It refuses invalid UTF-8, a repeated member of the outermost object, and deep
 * nesting.
 *
 * @param bytes the whole body, UTF-8 without byte order mark
 * @throws AppError 40001 when it is empty, not UTF-8, not JSON or nested too deep; 40002 when it has a member twice
 */
export function readJsonBody(bytes: Buffer, { subject = 'body', textIds = false }: JsonOptions = {}): JsonBody {
  if (bytes.length === 0) throw new AppError(40001, `the ${subject} is empty; send a JSON object`)
  if (!isUtf8(bytes)) {
    const mark = isUtf16Mark(bytes) ? ': it begins with a byte order mark of UTF-16; send UTF-8' : ''
    throw new AppError(40001, `the ${subject} is not valid UTF-8${mark}`)
  }
  const scanner = new JsonScanner(bytes)
  try {
    const body = new JsonBody(bytes, { subject, textIds }, scanner.members(), scanner.hasEscapedName)
    const repeated = body.repeated()
    if (repeated === undefined) return body
    const name = /^\w{1,50}$/.test(repeated) ? repeated : 'the same member'
    throw new AppError(40002, `the ${subject} has ${name} more than once; send each member once`)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    throw refusalOf(error, bytes, subject)
  }
}

/** A JSON text. Its methods read single members, exactly. */
export class JsonBody {
  readonly subject: JsonSubject
  readonly textIds: boolean
  readonly isObject: boolean
  readonly #bytes: Buffer
  /** As JsonScanner returns them; empty where the text is no object. */
  readonly #members: readonly number[]
  /** The decoded names; undefined where they are few and without escapes, and their bytes say all. */
  readonly #names: readonly string[] | undefined

  constructor(
    bytes: Buffer,
    { subject, textIds }: Required<JsonOptions>,
    members: number[] | undefined,
    hasEscapedName: boolean,
  ) {
    this.subject = subject
    this.textIds = textIds
    this.isObject = members !== undefined
    this.#bytes = bytes
    this.#members = members ?? []
    const isPlain = !hasEscapedName && this.#members.length <= 4 * MAX_PAIRWISE
    this.#names = isPlain ? undefined : namesIn(bytes, this.#members)
  }

  has(name: string): boolean {
    return this.#find(name) >= 0
  }

  /** The JSON text of a top-level member; undefined for an absent one. */
  value(name: string): Buffer | undefined {
    const at = this.#find(name)
    return at < 0 ? undefined : this.#bytes.subarray(this.#members[at + 2], this.#members[at + 3])
  }

  int64(name: string): bigint | Int64Fault {
    const at = this.#find(name)
    if (at < 0) return 'not an integer'
    const start = this.#members[at + 2] as number
    const end = this.#members[at + 3] as number
    if (this.textIds && this.#bytes[start] === QUOTE) return decimalOf(this.text(name))
    return shortInt64(this.#bytes, start, end) ?? int64Of(this.#bytes.toString('latin1', start, end))
  }

  /** A top-level member that is a string or null; undefined for an absent one, NOT_TEXT for any other value. */
  text(name: string): string | null | undefined | typeof NOT_TEXT {
    const at = this.#find(name)
    if (at < 0) return undefined
    const start = this.#members[at + 2] as number
    const first = this.#bytes[start]
    if (first !== QUOTE) return first === LETTER_N ? null : NOT_TEXT
    const source = this.#bytes.toString('utf8', start + 1, (this.#members[at + 3] as number) - 1)
    return source.includes('\\') ? (JSON.parse(`"${source}"`) as string) : source
  }

  repeated(): string | undefined {
    if (this.#names === undefined && !hasSameName(this.#bytes, this.#members)) return undefined
    const seen = new Set<string>()
    const names = this.#names ?? namesIn(this.#bytes, this.#members)
    return names.find((name) => seen.size === seen.add(name).size)
  }

  /** @param name ASCII. @returns the index of the member in `members`, or a negative number */
  #find(name: string): number {
    if (this.#names !== undefined) return 4 * this.#names.indexOf(name)
    for (let i = 0; i < this.#members.length; i += 4) if (this.#isNamed(i, name)) return i
    return -1
  }

  #isNamed(i: number, name: string): boolean {
    const start = this.#members[i] as number
    if ((this.#members[i + 1] as number) - start !== name.length) return false
    for (let k = 0; k < name.length; k++) if (this.#bytes[start + k] !== name.charCodeAt(k)) return false
    return true
  }
}

/** Objects of up to this many members are compared name by name, without strings. */
const MAX_PAIRWISE = 8

/** The decoded names of members. One call decodes them all: 100,000 names take 20 ms. */
function namesIn(bytes: Buffer, members: readonly number[]): string[] {
  // Latin-1 makes each byte one character, so that offsets stay.
  const text = bytes.toString('latin1')
  const quoted: string[] = []
  for (let i = 0; i < members.length; i += 4) {
    quoted.push(text.slice((members[i] as number) - 1, (members[i + 1] as number) + 1))
  }
  return JSON.parse(`[${Buffer.from(quoted.join(), 'latin1').toString()}]`) as string[]
}

function hasSameName(bytes: Uint8Array, members: readonly number[]): boolean {
  for (let i = 4; i < members.length; i += 4) {
    for (let j = 0; j < i; j += 4) if (isSameName(bytes, members, i, j)) return true
  }
  return false
}

function isSameName(bytes: Uint8Array, members: readonly number[], i: number, j: number): boolean {
  const start = members[i] as number
  const other = members[j] as number
  const length = (members[i + 1] as number) - start
  if (length !== (members[j + 1] as number) - other) return false
  for (let k = 0; k < length; k++) if (bytes[start + k] !== bytes[other + k]) return false
  return true
}

export const NOT_TEXT: unique symbol = Symbol('no text')

const QUOTE = 0x22
const LETTER_N = 0x6e

/** Texts of JSON must not begin with one (RFC 8259 section 8.1). */
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

const isUtf16Mark = ([first, second]: Buffer): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

function refusalOf({ kind, at }: JsonFault, bytes: Buffer, subject: JsonSubject): AppError {
  if (kind === 'depth') return new AppError(40001, `the ${subject} is nested more than ${MAX_DEPTH} levels deep`)
  const start = `the ${subject} is not valid JSON`
  if (at === 0 && bytes.indexOf(BYTE_ORDER_MARK) === 0) {
    return new AppError(40001, `${start}: it begins with a byte order mark; send it without one`)
  }
  const before = bytes.toString('utf8', 0, at)
  const lines = before.split('\n')
  // A line within the row could be mistaken for a line of the file.
  const inLines = subject !== 'body' ? '' : ` (line ${lines.length} column ${(lines.at(-1)?.length ?? 0) + 1})`
  return new AppError(40001, `${start}, at position ${before.length}${inLines}`)
}

type Int64Fault = 'not an integer' | 'out of range'

/** The exact value of a JSON number (RFC 8259 section 6). The cost grows at most linearly with its length. */
export function int64Of(source: string): bigint | Int64Fault {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source)
  if (match === null) return 'not an integer'
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const all = whole + fraction
  let start = 0
  while (all[start] === '0') start++
  let end = all.length
  while (end > start && all[end - 1] === '0') end--
  if (start === end) return 0n
  const zeros = Number(exponent) - fraction.length + (all.length - end)
  if (zeros < 0) return 'not an integer'
  if (end - start + zeros > 19) return 'out of range'
  const magnitude = BigInt(all.slice(start, end) + '0'.repeat(zeros))
  const value = sign === '-' ? -magnitude : magnitude
  return value < MIN_ID || value > MAX_ID ? 'out of range' : value
}

/** The value of a text that the service writes for an id: one spelling for each value. */
function decimalOf(text: unknown): bigint | Int64Fault {
  return typeof text === 'string' && /^(?:0|-?[1-9]\d*)$/.test(text) ? int64Of(text) : 'not an integer'
}

/** The value of up to 15 plain digits, the form of nearly every id; undefined for any other text. */
function shortInt64(bytes: Uint8Array, start: number, end: number): bigint | undefined {
  if (end - start > SAFE_DIGITS) return undefined
  let value = 0
  for (let i = start; i < end; i++) {
    const digit = (bytes[i] as number) - 0x30
    if (digit < 0 || digit > 9) return undefined
    value = value * 10 + digit
  }
  return BigInt(value)
}

/** Any number of this many digits is exact as a double. */
const SAFE_DIGITS = 15

/**
 * Reads the plant in a JSON text. Ignores unknown members.
 *
 * @param id the id of the path or of the row, which an id in the text must equal; undefined: the text has the id
 * @throws AppError 40002 that names every fault
 */
export const parsePlant = (json: JsonBody, id?: bigint): NewPlant => validatePlant(candidateIn(json, id))

/**
 * Reads the changes of a merge patch (RFC 7396) for the plant with the id of the path.
 *
 * @throws AppError 40002 that names every fault
 */
export const parsePatch = (json: JsonBody, id: bigint): PlantPatch => validatePatch(candidateIn(json, id))

export interface RowOptions {
  /** What the rows are for: a row of mode `delete` may have an id alone. */
  readonly mode?: ImportMode
  /** Whether ids may be texts. */
  readonly textIds?: boolean
  /** Whether rows have no id. The plant of a row then has the id 0. */
  readonly assignsIds?: boolean
}

/**
 * Reads the plant in one row of a file, by the same rule as the body of a create, and what it says of the plant before.
 *
 * @throws AppError 40001 or 40002
 */
export function parseRow(json: Buffer, { mode, textIds = false, assignsIds = false }: RowOptions = {}): ImportedPlant {
  const row = readJsonBody(json, { subject: 'row', textIds })
  if (assignsIds) {
    if (row.isObject && row.has('id')) throw new AppError(40002, 'id must be left out with ids=assign')
    return parsePlant(row, 0n)
  }
  if (mode === 'delete') return deletedPlant(candidateIn(row, undefined))
  const plant = parsePlant(row)
  const value = row.value('before')
  if (value === undefined) return plant
  try {
    const before = readJsonBody(value, { subject: 'value', textIds })
    const { name, tag } = parsePlant(before, plant.id)
    return { ...plant, before: { name, tag } }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(error.number, `in before: ${error.message}`)
  }
}

function candidateIn(json: JsonBody, id: bigint | undefined): PlantCandidate {
  if (!json.isObject) throw new AppError(40002, `the ${json.subject} must be an object`)
  return { id: idIn(json, id), name: json.text('name'), tag: json.text('tag') }
}

function idIn(json: JsonBody, wanted: bigint | undefined): PlantCandidate['id'] {
  if (!json.has('id')) return wanted
  const id = json.int64('id')
  if (wanted === undefined) return typeof id === 'bigint' ? id : faultOfId(id, json)
  return id === wanted ? id : `must be ${wanted} as in the ${json.subject === 'value' ? 'row' : 'path'}, or left out`
}

function faultOfId(fault: Int64Fault, json: JsonBody): string {
  if (fault === 'out of range') return ID_RANGE
  const isText = json.subject === 'body' && !json.textIds && typeof json.text('id') === 'string'
  const way = isText ? ' (a text needs IEEE754Compatible=true at the Content-Type, or an address below /text-ids)' : ''
  return `must be an integer, as ${json.textIds ? 'a text in plain decimal or ' : ''}a JSON number${way}`
}
