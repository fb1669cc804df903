/**
 * Makes a text safe for a terminal. Spells control, direction and other invisible characters, which could move the
 * cursor or disguise their neighbours, as `\u{1b}`. Keeps line ends and tabs.
 */
export function printable(text: string): string {
  return text.replaceAll(UNSAFE, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`)
}

/** Makes a text safe for a terminal, and replaces line ends and tabs by spaces. */
export const onOneLine = (text: string): string => printable(text).replaceAll(/[\r\n\t]+/g, ' ')

/** Invisible characters except line ends, tabs, and the joiner of emojis (U+200D). */
const UNSAFE = /(?!\n|\t|\r\n|\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** The most code points of a value that a message shows. */
const MAX_SHOWN = 40

/** A value for a message: in quotation marks, printable, cut short. */
export function shown(value: string): string {
  // A code point has at most two units, so this slice holds more than the message shows.
  const points = Array.from(value.slice(0, 2 * MAX_SHOWN + 2))
  const isCut = points.length > MAX_SHOWN
  return `"${onOneLine(points.slice(0, MAX_SHOWN).join(''))}${isCut ? '…' : ''}"`
}

/** `1,234,567`, of an integer. Intl.NumberFormat would take 13 ms of each command. */
export const count = (number: number): string => String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')

/** `1 plant`, `1,234 plants` */
export const counted = (number: number, what: string): string => `${count(number)} ${what}${number === 1 ? '' : 's'}`
