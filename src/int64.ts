import { MAX_ID, MIN_ID } from './plant.ts'

export type Int64Fault = 'not an integer' | 'out of range'

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

/** The value of up to 15 plain digits, which is what nearly every id is; undefined for anything else. */
export function shortInt64(bytes: Uint8Array, start: number, end: number): bigint | undefined {
  if (end - start > SAFE_DIGITS) return undefined
  let value = 0
  for (let i = start; i < end; i++) {
    const digit = (bytes[i] as number) - 0x30
    if (digit < 0 || digit > 9) return undefined
    value = value * 10 + digit
  }
  return BigInt(value)
}

/** Any number of so many digits is exact as a double. */
const SAFE_DIGITS = 15
