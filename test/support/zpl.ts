import assert from 'node:assert/strict'

/** A picture as a label printer has it: bytes of eight dots, highest bit first, 1 black. */
export interface Dots {
  readonly width: number
  readonly height: number
  readonly bytes: Uint8Array
}

/** All that the page may write: a picture on a label of its size. So a printer keeps its own home of labels (^LH). */
const LABEL = /\^XA\^PW(\d+)\^LL(\d+)\^FO0,0\^GFA,(\d+),(\d+),(\d+),([0-9A-Zg-z:,]+)\^FS\^XZ\n/y

/** Reads labels as a printer does: ^GF with the compression of ZPL II, by Zebra's programming guide. */
export function labelsIn(zpl: string): Dots[] {
  const labels: Dots[] = []
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < zpl.length) {
    const at = LABEL.lastIndex
    const [, width, height, sent, total, rowBytes, data] = (LABEL.exec(zpl) ?? assert.fail(zpl.slice(at, at + 80))).map(
      String,
    )
    assert.equal(sent, total)
    assert.equal(Number(rowBytes), Math.ceil(Number(width) / 8))
    assert.equal(Number(total), Number(rowBytes) * Number(height))
    const bytes = Buffer.from(expanded(data ?? '', Number(rowBytes) * 2), 'hex')
    assert.equal(bytes.length, Number(total))
    labels.push({ width: Number(width), height: Number(height), bytes })
  }
  return labels
}

function expanded(data: string, rowDigits: number): string {
  let all = ''
  let row = ''
  let count = 0
  for (const letter of data) {
    if (/[G-Y]/.test(letter)) count += letter.charCodeAt(0) - 'G'.charCodeAt(0) + 1
    else if (/[g-z]/.test(letter)) count += (letter.charCodeAt(0) - 'g'.charCodeAt(0) + 1) * 20
    else if (letter === ':') all += all.slice(-rowDigits)
    else {
      row += letter === ',' ? '0'.repeat(rowDigits - row.length) : letter.repeat(Math.max(1, count))
      count = 0
      assert.ok(row.length <= rowDigits, 'a row has too many dots')
    }
    if (row.length === rowDigits) {
      all += row
      row = ''
    }
  }
  assert.equal(row, '')
  return all
}

/** The picture as PGM, with a white margin as paper around it. */
export function pictureOf({ width, height, bytes }: Dots): Uint8Array {
  const rowBytes = Math.ceil(width / 8)
  const grey = Buffer.alloc(width * height, 255)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (((bytes[y * rowBytes + (x >> 3)] ?? 0) & (0x80 >> (x & 7))) !== 0) grey[y * width + x] = 0
    }
  }
  return Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), grey])
}
