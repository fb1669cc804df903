import fc from 'fast-check'

/** Any spelling of a JSON number (RFC 8259 section 6): integers and others, small and huge. */
export const numberText: fc.Arbitrary<string> = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 22n }).map(String)),
    fraction: fc.oneof(
      fc.constant(''),
      fc
        .string({ unit: fc.constantFrom('0', '0', '0', '5', '1'), minLength: 1, maxLength: 25 })
        .map((digits) => `.${digits}`),
    ),
    exponent: fc.oneof(
      fc.constant(''),
      fc
        .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.integer({ min: 0, max: 30 }))
        .map((parts) => parts.join('')),
    ),
  })
  .map(({ sign, whole, fraction, exponent }) => sign + whole + fraction + exponent)

/** Spellings of exactly this integer: the decimal point is moved, and an exponent moves it back. */
export function integerSpelling(value: bigint): fc.Arbitrary<string> {
  return fc
    .record({
      zeros: fc.integer({ min: 0, max: 30 }),
      shift: fc.integer({ min: -30, max: 30 }),
      e: fc.constantFrom('e', 'E'),
      plus: fc.constantFrom('', '+'),
    })
    .map(({ zeros, shift, e, plus }) => {
      const sign = value < 0n ? '-' : ''
      const magnitude = String(value < 0n ? -value : value)
      if (shift <= 0) {
        const digits = magnitude === '0' ? '0' : magnitude + '0'.repeat(-shift)
        return sign + digits + (zeros > 0 ? `.${'0'.repeat(zeros)}` : '') + (shift < 0 ? `${e}${shift}` : '')
      }
      const padded = magnitude.padStart(shift + 1, '0')
      return `${sign}${padded.slice(0, -shift)}.${padded.slice(-shift)}${'0'.repeat(zeros)}${e}${plus}${shift}`
    })
}

/**
 * Computes a JSON number as a fraction of two bigints. Returns undefined if the value is no integer. This is a
 * reference for the parser of the program, with another algorithm and for small exponents only.
 */
export function exactInteger(spelling: string): bigint | undefined {
  const [mantissa = '', exponent = '0'] = spelling.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const power = Number(exponent) - fraction.length
  const numerator = BigInt(`${whole.replace('-', '')}${fraction}`) * 10n ** BigInt(Math.max(power, 0))
  const denominator = 10n ** BigInt(Math.max(-power, 0))
  if (numerator % denominator !== 0n) return undefined
  return (whole.startsWith('-') ? -1n : 1n) * (numerator / denominator)
}
