/** The first character of a string that stands for a number. The contract has no string with this character. */
const MARK = '\uE000'
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** A number as its JSON text. The page never uses `Number`, which rounds 64-bit integers. */
export class ExactNumber {
  /** @param {string} source */
  constructor(source) {
    this.source = source
  }

  toString() {
    return this.source
  }
}

/** @typedef {string | boolean | null | ExactNumber | JsonValue[] | { [member: string]: JsonValue }} JsonValue */

/**
 * Reads JSON with every number as an ExactNumber.
 *
 * @param {string} text
 * @returns {unknown}
 */
export function parseExact(text) {
  const marked = text.replaceAll(TOKENS, (token) => (token.startsWith('"') ? token : `"${MARK}${token}"`))
  return JSON.parse(marked, (_key, value) =>
    typeof value === 'string' && value.startsWith(MARK) ? new ExactNumber(value.slice(1)) : value,
  )
}

/**
 * Writes JSON with every number as parseExact read it.
 *
 * @param {JsonValue} value
 * @returns {string}
 */
export function formatExact(value, indent = '') {
  if (value instanceof ExactNumber) return value.source
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const isArray = Array.isArray(value)
  const deeper = `${indent}  `
  const members = isArray
    ? value.map((element) => formatExact(element, deeper))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${formatExact(member, deeper)}`)
  const [open, close] = isArray ? ['[', ']'] : ['{', '}']
  if (members.length === 0) return open + close
  return `${open}\n${deeper}${members.join(`,\n${deeper}`)}\n${indent}${close}`
}
