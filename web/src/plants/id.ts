const INTEGER = /^\s*([-−]?)0*(\d{1,19})\s*$/
const MOST = 2n ** 63n

/** Returns null if the text is no int64. */
export function idIn(text: string): bigint | null {
  const [, sign, digits] = INTEGER.exec(text) ?? []
  if (digits === undefined) return null
  const id = sign === '' ? BigInt(digits) : -BigInt(digits)
  return id >= -MOST && id < MOST ? id : null
}

/** The id that a person types, as `1234` or `#1234`; null if the text is none. */
export const idTyped = (text: string): bigint | null => idIn(text.replace(/^\s*#/, ''))
