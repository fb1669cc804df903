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
