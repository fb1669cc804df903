/**
 * Escapes in JSON what JSON allows in a text and many readers of lines, such as Python's `splitlines`, take for the end of
 * one: U+0085, U+2028 and U+2029.
 */
export const inOneLine = (json: string): string =>
  json.replaceAll(/[\u0085\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`)
