import { randomInt } from 'node:crypto'

/**
 * The bytes with the escaped names of these members decoded in place; a decoded name is never longer than an escaped
 * one.
 *
 * @param members as JsonScanner returns them; the ends of decoded names are moved
 */
export function decodeNames(bytes: Uint8Array, members: number[]): Uint8Array {
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

/** Objects of up to this many members are compared name by name, without hashes. */
const MAX_PAIRWISE = 8

/**
 * Finds a name that occurs twice.
 *
 * @param members as JsonScanner returns them, for names without escapes
 * @returns the index in `members` of a member with that name; -1 when each name occurs once
 */
export function repeatedName(bytes: Uint8Array, members: readonly number[]): number {
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

/**
 * Compares only names whose hash occurs twice: 100,000 names take 8 ms, and a Set of all of them 28 ms. In the worst
 * case, where all hashes are equal, this takes as long as the Set.
 */
function repeatedOfMany(bytes: Uint8Array, members: readonly number[]): number {
  const count = members.length / 4
  const mask = 2 ** Math.ceil(Math.log2(count * 8)) - 1
  const seed = randomInt(2 ** 32)
  const hashes = new Uint32Array(count)
  const seen = new Uint8Array(mask + 1)
  for (let k = 0; k < count; k++) {
    const slot = hashOf(bytes, members[4 * k] as number, members[4 * k + 1] as number, seed) & mask
    hashes[k] = slot
    if ((seen[slot] as number) < 2) seen[slot] = (seen[slot] as number) + 1
  }
  // Latin-1 makes each byte one character, so that equal names are equal strings.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const names = new Set<string>()
  for (let k = 0; k < count; k++) {
    if (seen[hashes[k] as number] === 1) continue
    const name = text.slice(members[4 * k], members[4 * k + 1])
    if (names.has(name)) return 4 * k
    names.add(name)
  }
  return -1
}

/** Hashes a name. The random seed keeps clients from choosing names with equal hashes. */
function hashOf(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash ^ (bytes[at] as number), 0x5bd1e995)
    hash ^= hash >>> 15
  }
  return hash
}
