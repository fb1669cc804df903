import type { Bitmap } from './pdf.ts'

/**
 * Returns the commands that print one page, as a picture of its dots. So a printer needs no fonts for the scripts of
 * names, places codes as the preview does, and reads no text of a person: `^` and `~` begin commands in ZPL. The home
 * of the label stays where the printer has it: people set it there for their roll.
 * https://docs.zebra.com/us/en/printers/software/zpl-pg.html
 */
export function zplOf({ width, height, bits }: Bitmap): string {
  const rowBytes = Math.ceil(width / 8)
  const rows = Array.from({ length: height }, (_, y) => bits.subarray(y * rowBytes, (y + 1) * rowBytes))
  const texts = rows.map((row) =>
    Array.from(row, (byte) => byte.toString(16).padStart(2, '0'))
      .join('')
      .toUpperCase(),
  )
  const data = texts.map((text, y) => (y > 0 && text === texts[y - 1] ? ':' : compressed(text))).join('')
  const total = rowBytes * height
  return `^XA^PW${width}^LL${height}^FO0,0^GFA,${total},${total},${rowBytes},${data}^FS^XZ\n`
}

/** A row of hexadecimal digits: its end is `,` where only zeros follow, and a digit more than thrice has its count. */
const compressed = (row: string): string =>
  row
    .replace(/(?<!0)0+$/, ',')
    .replaceAll(/([0-9A-F])\1{3,}/g, (run, digit: string) => `${countOf(run.length)}${digit}`)

/** A count of repeats: `z` is 400, `g` to `y` are 20 to 380, `G` to `Y` are 1 to 19. */
function countOf(count: number): string {
  const letter = (first: string, steps: number): string =>
    steps === 0 ? '' : String.fromCharCode(first.charCodeAt(0) + steps - 1)
  const rest = count % 400
  return 'z'.repeat(Math.floor(count / 400)) + letter('g', Math.floor(rest / 20)) + letter('G', rest % 20)
}
