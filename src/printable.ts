/**
 * A text as a terminal may show it: control, direction and other invisible characters, which could move the cursor or
 * disguise what stands beside them, are spelled as `\u{1b}`; line ends and tabs stay.
 */
export function printable(text: string): string {
  return text.replaceAll(UNSAFE, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`)
}

/** The same where the whole text has to stay on one line. */
export const onOneLine = (text: string): string => printable(text).replaceAll(/[\r\n\t]+/g, ' ')

/** All but line ends, tabs, and what joins the parts of an emoji. */
const UNSAFE = /(?!\n|\t|\r\n|\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Code points of a value that a message shows. */
const MOST_SHOWN = 40

/** A value as a message shows it: in quotation marks, printable, cut short. */
export function shown(value: string): string {
  // A code point has at most two units, and a longer text need not be looked at.
  const points = Array.from(value.slice(0, 2 * MOST_SHOWN + 2))
  const isCut = points.length > MOST_SHOWN
  return `"${onOneLine(points.slice(0, MOST_SHOWN).join(''))}${isCut ? '…' : ''}"`
}

const grouped = new Intl.NumberFormat('en-US')

/** `1,234,567` */
export const count = (number: number): string => grouped.format(number)

/** `1 plant`, `1,234 plants` */
export const counted = (number: number, what: string): string => `${count(number)} ${what}${number === 1 ? '' : 's'}`
