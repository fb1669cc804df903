/** The first character of a string that stands for a number. No text of the service has U+0000. */
const MARK = '\u0000'

/**
 * Parses JSON. An integer of 16 digits or more becomes a bigint, because a number may round it; others stay numbers.
 */
export function parseExact(text: string): unknown {
  // Few texts have such an integer, and JSON.parse is several times as fast without a reviver.
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(withMarks(text), (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(1)) : value,
  )
}

/** Puts quotation marks and the mark around long integers outside of texts. */
function withMarks(text: string): string {
  const parts: string[] = []
  let at = 0
  while (at < text.length) {
    const open = text.indexOf('"', at)
    const outside = text.slice(at, open === -1 ? text.length : open)
    parts.push(outside.replace(/(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g, '"\\u0000$&"'))
    if (open === -1) break
    let close = text.indexOf('"', open + 1)
    while (close !== -1 && isEscaped(text, close)) close = text.indexOf('"', close + 1)
    at = close === -1 ? text.length : close + 1
    parts.push(text.slice(open, at))
  }
  return parts.join('')
}

/** Whether an odd number of backslashes precedes the character, so that it is escaped. */
function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text[at - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}

/** Writes a JSON object with an id, which JSON.stringify cannot write. */
export function withId(id: bigint, members: object): string {
  const rest = JSON.stringify(members)
  return `{"id":${exactId(id)}${rest === '{}' ? '' : ','}${rest.slice(1)}`
}

/** @throws TypeError for a number, which may be rounded */
export function exactId(id: bigint): string {
  if (typeof id !== 'bigint') throw new TypeError(`an id is a bigint, such as 7n, and not ${typeof id}`)
  return String(id)
}

/** An int64 of an answer as a bigint. */
export const int64 = (value: number | bigint): bigint => BigInt(value)
