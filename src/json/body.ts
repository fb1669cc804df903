import { isUtf8 } from 'node:buffer'
import { AppError } from '../domain/errors.ts'
import {
  ID_RANGE,
  type ImportedPlant,
  MAX_ID,
  MIN_ID,
  type NewPlant,
  type Plant,
  type PlantCandidate,
  type PlantPatch,
  validatePatch,
  validatePlant,
} from '../domain/plant.ts'
import { JsonFault, JsonScanner } from './scanner.ts'

/** The origin of a JSON text: the whole body of a request, one row of a file, or the value of a member. */
type JsonSubject = 'body' | 'row' | 'value'

/**
 * Reads a JSON text (RFC 8259) strictly. It refuses invalid UTF-8, a repeated member of the outermost object, and deep
 * nesting.
 *
 * @param bytes the whole body, UTF-8 without byte order mark
 * @param maxDepth levels of arrays and objects
 * @param sizeLimit bytes besides long strings, which take less time per byte
 * @throws AppError 40001 when it is empty, not UTF-8, not JSON or nested too deep; 40002 when it has a member twice;
 *   41301 when it exceeds sizeLimit
 */
export function readJsonBody(
  bytes: Buffer,
  maxDepth: number,
  { subject = 'body', sizeLimit = bytes.length }: { subject?: JsonSubject; sizeLimit?: number } = {},
): JsonBody {
  if (bytes.length === 0) throw new AppError(40001, `the ${subject} is empty; send a JSON object`)
  if (!isUtf8(bytes)) {
    const mark = isUtf16Mark(bytes) ? ': it begins with a byte order mark of UTF-16; send UTF-8' : ''
    throw new AppError(40001, `the ${subject} is not valid UTF-8${mark}`)
  }
  const scanner = new JsonScanner(bytes, maxDepth, sizeLimit)
  try {
    const members = scanner.members()
    const body = new JsonBody(bytes, subject, members, scanner.hasEscapedName)
    const repeated = body.repeated()
    if (repeated === undefined) return body
    throw new AppError(40002, `the ${subject} has ${repeated} more than once; send each member once`)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    if (error.kind !== 'size') throw refusalOf(error, bytes, maxDepth, subject)
    throw new AppError(41301, `the ${subject} has more than ${sizeLimit} bytes besides its texts`)
  }
}

/** A JSON text. Its methods read single members, exactly. */
export class JsonBody {
  /** The name of the text in messages. */
  readonly subject: JsonSubject
  readonly isObject: boolean
  readonly #bytes: Buffer
  /** As JsonScanner returns them; empty where the text is no object. */
  readonly #members: readonly number[]
  /** The bytes to which the offsets of names apply. */
  readonly #names: Uint8Array

  constructor(bytes: Buffer, subject: JsonSubject, members: number[] | undefined, hasEscapedName: boolean) {
    this.subject = subject
    this.isObject = members !== undefined
    this.#bytes = bytes
    this.#members = members ?? []
    this.#names = hasEscapedName && members !== undefined ? decodeNames(bytes, members) : bytes
  }

  has(name: string): boolean {
    return this.#find(name) !== -1
  }

  /** The JSON text of a top-level member; undefined for an absent one. */
  value(name: string): Buffer | undefined {
    const at = this.#find(name)
    return at === -1 ? undefined : this.#bytes.subarray(this.#members[at + 2], this.#members[at + 3])
  }

  /** A top-level member as an exact int64. */
  int64(name: string): bigint | Int64Fault {
    const at = this.#find(name)
    if (at === -1) return 'not an integer'
    const start = this.#members[at + 2] as number
    const end = this.#members[at + 3] as number
    return shortInt64(this.#bytes, start, end) ?? int64Of(this.#bytes.toString('latin1', start, end))
  }

  /** A top-level member that is a string or null; undefined for an absent one, NOT_TEXT for any other value. */
  text(name: string): string | null | undefined | typeof NOT_TEXT {
    const at = this.#find(name)
    if (at === -1) return undefined
    const start = this.#members[at + 2] as number
    const first = this.#bytes[start]
    if (first !== QUOTE) return first === LETTER_N ? null : NOT_TEXT
    const source = this.#bytes.toString('utf8', start + 1, (this.#members[at + 3] as number) - 1)
    return source.includes('\\') ? (JSON.parse(`"${source}"`) as string) : source
  }

  /** The name of a repeated member, cut to fit a message; undefined when there is none. */
  repeated(): string | undefined {
    const at = repeatedName(this.#names, this.#members)
    if (at === -1) return undefined
    const name = Buffer.from(this.#names.subarray(this.#members[at], this.#members[at + 1])).toString('latin1')
    return /^\w{1,50}$/.test(name) ? name : 'the same member'
  }

  #find(name: string): number {
    for (let i = 0; i < this.#members.length; i += 4) if (this.#isNamed(i, name)) return i
    return -1
  }

  /** @param name ASCII */
  #isNamed(i: number, name: string): boolean {
    const start = this.#members[i] as number
    if ((this.#members[i + 1] as number) - start !== name.length) return false
    for (let k = 0; k < name.length; k++) if (this.#names[start + k] !== name.charCodeAt(k)) return false
    return true
  }
}

/** A member that is neither a string nor null. */
export const NOT_TEXT: unique symbol = Symbol('no text')

const QUOTE = 0x22
const LETTER_N = 0x6e

/** Texts of JSON must not begin with one (RFC 8259 section 8.1). */
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

const isUtf16Mark = ([first, second]: Buffer): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

function refusalOf({ kind, at }: JsonFault, bytes: Buffer, maxDepth: number, subject: JsonSubject): AppError {
  if (kind === 'depth') return new AppError(40001, `the ${subject} is nested more than ${maxDepth} levels deep`)
  if (at === 0 && bytes.indexOf(BYTE_ORDER_MARK) === 0) {
    return new AppError(
      40001,
      `the ${subject} is not valid JSON: it begins with a byte order mark; send it without one`,
    )
  }
  const before = bytes.toString('utf8', 0, at)
  const lines = before.split('\n')
  // A line within the row could be mistaken for a line of the file.
  const inLines = subject !== 'body' ? '' : ` (line ${lines.length} column ${(lines.at(-1)?.length ?? 0) + 1})`
  return new AppError(40001, `the ${subject} is not valid JSON, at position ${before.length}${inLines}`)
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
 * The bytes with the escaped names of these members decoded in place; a decoded name is never longer than an escaped
 * one.
 *
 * @param members as JsonScanner returns them; the ends of decoded names are moved
 */
function decodeNames(bytes: Uint8Array, members: number[]): Uint8Array {
  const decoded = Uint8Array.from(bytes)
  for (let i = 0; i < members.length; i += 4) {
    members[i + 1] = decodeEscapes(decoded, members[i] as number, members[i + 1] as number)
  }
  return decoded
}

/**
 * Decodes the escapes between two offsets in place, to UTF-8. A lone surrogate becomes the three bytes of its number.
 *
 * @returns the new end
 */
function decodeEscapes(bytes: Uint8Array, start: number, end: number): number {
  let to = start
  for (let from = start; from < end; ) {
    const c = bytes[from++] as number
    if (c !== BACKSLASH) {
      bytes[to++] = c
      continue
    }
    const letter = bytes[from++] as number
    if (letter !== 0x75) {
      bytes[to++] = CONTROLS.get(letter) ?? letter
      continue
    }
    let code = hexOf(bytes, from)
    from += 4
    if ((code & 0xfc00) === 0xd800 && bytes[from] === BACKSLASH && bytes[from + 1] === 0x75 && from < end) {
      const low = hexOf(bytes, from + 2)
      if ((low & 0xfc00) === 0xdc00) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff)
        from += 6
      }
    }
    to = encode(bytes, to, code)
  }
  return to
}

const BACKSLASH = 0x5c
/** By the letter of the escape (RFC 8259 section 7). */
const CONTROLS: ReadonlyMap<number, number> = new Map([
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
])

function hexOf(bytes: Uint8Array, at: number): number {
  let value = 0
  for (let i = at; i < at + 4; i++) {
    const c = bytes[i] as number
    value = value * 16 + (c <= 0x39 ? c - 0x30 : (c | 0x20) - 0x57)
  }
  return value
}

/** Writes one code point as UTF-8 (RFC 3629 section 3). @returns the offset after it */
function encode(bytes: Uint8Array, at: number, code: number): number {
  let to = at
  if (code < 0x80) {
    bytes[to++] = code
    return to
  }
  if (code < 0x800) {
    bytes[to++] = 0xc0 | (code >> 6)
  } else {
    if (code < 0x10000) {
      bytes[to++] = 0xe0 | (code >> 12)
    } else {
      bytes[to++] = 0xf0 | (code >> 18)
      bytes[to++] = 0x80 | ((code >> 12) & 0x3f)
    }
    bytes[to++] = 0x80 | ((code >> 6) & 0x3f)
  }
  bytes[to++] = 0x80 | (code & 0x3f)
  return to
}

/** Objects of up to this many members are compared name by name, without strings. */
const MAX_PAIRWISE = 8

/**
 * Finds a name that occurs twice.
 *
 * @param members as JsonScanner returns them, for names without escapes
 * @returns the index in `members` of a member with that name; -1 when each name occurs once
 */
function repeatedName(bytes: Uint8Array, members: readonly number[]): number {
  return members.length <= 4 * MAX_PAIRWISE ? repeatedOfFew(bytes, members) : repeatedOfMany(bytes, members)
}

function repeatedOfFew(bytes: Uint8Array, members: readonly number[]): number {
  for (let i = 4; i < members.length; i += 4) {
    for (let j = 0; j < i; j += 4) if (isSameName(bytes, members, i, j)) return i
  }
  return -1
}

function isSameName(bytes: Uint8Array, members: readonly number[], i: number, j: number): boolean {
  const start = members[i] as number
  const other = members[j] as number
  const length = (members[i + 1] as number) - start
  if (length !== (members[j + 1] as number) - other) return false
  for (let k = 0; k < length; k++) if (bytes[start + k] !== bytes[other + k]) return false
  return true
}

/** Latin-1 makes each byte one character, so that equal names are equal strings. 100,000 names take 28 ms. */
function repeatedOfMany(bytes: Uint8Array, members: readonly number[]): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const names = new Set<string>()
  for (let i = 0; i < members.length; i += 4) {
    const name = text.slice(members[i], members[i + 1])
    if (names.has(name)) return i
    names.add(name)
  }
  return -1
}

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
 * Reads the plant in one row of a file, by the same rule as the body of a create, and what it says of the plant before.
 *
 * @param sizeLimit bytes of the row besides long texts
 * @throws AppError 40001, 40002 or 41301
 */
export function parseRow(json: Buffer, nestingLimit: number, sizeLimit: number): ImportedPlant {
  const row = readJsonBody(json, nestingLimit, { subject: 'row', sizeLimit })
  const plant = parsePlant(row)
  const value = row.value('before')
  return value === undefined ? plant : { ...plant, before: parseBefore(value, plant.id, nestingLimit, sizeLimit) }
}

/** Reads a plant without its id, or with the one of its row. */
function parseBefore(value: Buffer, id: bigint, nestingLimit: number, sizeLimit: number): Plant {
  try {
    const { name, tag } = parseReplacement(readJsonBody(value, nestingLimit, { subject: 'value', sizeLimit }), id)
    return { name, tag }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(error.number, `in before: ${error.message}`)
  }
}

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
  return !json.has('id') || json.int64('id') === id
    ? id
    : `must be ${id} as in the ${json.subject === 'value' ? 'row' : 'path'}, or left out`
}

const ID_FAULTS = { 'not an integer': 'must be an integer, as a JSON number', 'out of range': ID_RANGE } as const
