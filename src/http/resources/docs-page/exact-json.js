/** Marks a text that stands for a number. JSON texts of the service never contain this private-use character raw. */
const MARK = '\uE000'
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** A number as it is written in a JSON text. `Number` rounds 64-bit integers, so the page never uses it. */
export class ExactNumber {
  /** @param {string} source */
  constructor(source) {
    this.source = source
  }

  toString() {
    return this.source
  }
}

/**
 * Reads JSON with every number as an ExactNumber.
 *
 * @param {string} text
 * @returns {any}
 */
export function parseExact(text) {
  const marked = text.replaceAll(TOKENS, (token) => (token.startsWith('"') ? token : `"${MARK}${token}"`))
  return JSON.parse(marked, (_key, value) =>
    typeof value === 'string' && value.startsWith(MARK) ? new ExactNumber(value.slice(1)) : value,
  )
}

/**
 * Writes JSON with every number as it was read.
 *
 * @param {any} value
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
