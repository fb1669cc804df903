import type { Measure, Style } from './text.ts'

/** Black and white pixels, eight in a byte, highest bit first. Each row begins a byte. 1 is black. */
export interface Bitmap {
  readonly width: number
  readonly height: number
  readonly bits: Uint8Array<ArrayBuffer>
}

export interface PlacedBitmap {
  readonly bitmap: Bitmap
  /** Millimetres from the top left corner of the page. */
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** A text from left to right that `isInFonts` takes. */
export interface PlacedText {
  readonly text: string
  readonly style: Style
  /** The left end of the base line, in millimetres from the top left corner of the page. */
  readonly x: number
  readonly y: number
  /** The em in millimetres. */
  readonly size: number
}

export interface PdfPage {
  /** Millimetres. */
  readonly width: number
  readonly height: number
  /** A path of PDF operators, in millimetres from the top left corner. The writer fills it with black. */
  readonly path: string
  readonly texts: readonly PlacedText[]
  readonly bitmaps: readonly PlacedBitmap[]
}

const POINTS_PER_MM = 72 / 25.4
/** The first objects of every PDF file: 1, 2 and 3. */
const [CATALOG, PAGES, INFO] = [1, 2, 3]

/** Fonts that every viewer has (ISO 32000-1, 9.6.2.2), with what Adobe's metrics of them say. */
const FONTS: readonly (readonly [style: Style, name: string, metrics: string])[] = [
  ['plain', 'Helvetica', '/Flags 32 /ItalicAngle 0 /StemV 88 /FontBBox [-166 -225 1000 931]'],
  ['bold', 'Helvetica-Bold', '/Flags 32 /ItalicAngle 0 /StemV 140 /FontBBox [-170 -228 1003 962]'],
  ['italic', 'Helvetica-Oblique', '/Flags 96 /ItalicAngle -12 /StemV 88 /FontBBox [-170 -225 1116 931]'],
]

/** WinAnsiEncoding, by codes. Its hyphen at the code of the soft hyphen, which browsers do not draw, is left out. */
const LETTERS = Array.from(new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, i) => i)))
const CODES = new Map(LETTERS.map((letter, code) => [letter, code] as const).filter(([of]) => !/[\p{C}\xa0]/u.test(of)))
const FIRST = 32

/** Whether the fonts of every viewer have all letters of a text. */
export const isInFonts = (text: string): boolean => Array.from(text).every((letter) => CODES.has(letter))

/**
 * Writes a PDF file of black shapes, texts and bitmaps (ISO 32000-1). It keeps only compressed pages in memory, and
 * embeds no fonts: it sets texts in those of every viewer, with each letter as wide as `measure` says, and its caller
 * draws the other texts as bitmaps (docs/decisions/0036-labels.md).
 */
export class PdfWriter {
  readonly #parts: (Uint8Array<ArrayBuffer> | string)[] = []
  readonly #offsets: number[] = []
  readonly #pages: number[] = []
  readonly #measure: Measure
  /** The widths of all letters of a style in thousandths of its em, by their codes. */
  readonly #widths = new Map<Style, readonly number[]>()
  #fonts = ''
  #length = 0
  #last = INFO

  constructor(measure: Measure) {
    this.#measure = measure
    // Four bytes over 127 mark the file as binary.
    this.#write('%PDF-1.7\n%')
    this.#write(Uint8Array.of(0xe2, 0xe3, 0xcf, 0xd3))
    this.#write('\n')
    for (const [style, name, metrics] of FONTS) this.#addFont(style, name, metrics)
  }

  async addPage({ width, height, path, texts, bitmaps }: PdfPage): Promise<void> {
    const images: number[] = []
    for (const { bitmap } of bitmaps) images.push(await this.#addBitmap(bitmap))
    const drawn = bitmaps.map(
      (placed, i) =>
        `q ${number(placed.width)} 0 0 ${number(-placed.height)} ${number(placed.x)} ${number(placed.y + placed.height)} cm /I${i} Do Q`,
    )
    // Changes the unit to millimetres and the origin to the top left corner.
    const scale = `${number(POINTS_PER_MM)} 0 0 ${number(-POINTS_PER_MM)} 0 ${number(height * POINTS_PER_MM)} cm`
    const content = await this.#addStream(
      '',
      new TextEncoder().encode([scale, path, 'f', ...texts.map((text) => this.#set(text)), ...drawn].join('\n')),
    )
    const page = this.#next()
    const box = `[0 0 ${number(width * POINTS_PER_MM)} ${number(height * POINTS_PER_MM)}]`
    const objects = images.map((image, i) => `/I${i} ${image} 0 R`).join(' ')
    const resources = `/Font << ${this.#fonts} >> /XObject << ${objects} >>`
    this.#object(
      page,
      `<< /Type /Page /Parent ${PAGES} 0 R /MediaBox ${box} /Contents ${content} 0 R /Resources << ${resources} >> >>`,
    )
    this.#pages.push(page)
  }

  /** @param title the name of the document in a viewer */
  finish(title: string): Blob {
    // Scaled pages would miss the labels of the sheet.
    const preferences = '/ViewerPreferences << /PrintScaling /None /DisplayDocTitle true >>'
    this.#object(CATALOG, `<< /Type /Catalog /Pages ${PAGES} 0 R ${preferences} >>`)
    const kids = this.#pages.map((page) => `${page} 0 R`).join(' ')
    this.#object(PAGES, `<< /Type /Pages /Count ${this.#pages.length} /Kids [${kids}] >>`)
    this.#object(INFO, `<< /Title ${textString(title)} /Producer (Plantstore) >>`)
    const start = this.#length
    const count = this.#last + 1
    const rows = Array.from({ length: this.#last }, (_, i) => {
      return `${String(this.#offsets[i + 1]).padStart(10, '0')} 00000 n \n`
    })
    this.#write(`xref\n0 ${count}\n0000000000 65535 f \n${rows.join('')}`)
    this.#write(`trailer\n<< /Size ${count} /Root ${CATALOG} 0 R /Info ${INFO} 0 R >>\nstartxref\n${start}\n%%EOF\n`)
    return new Blob(this.#parts, { type: 'application/pdf' })
  }

  #addFont(style: Style, name: string, metrics: string): void {
    const widths = LETTERS.map((letter) => (CODES.has(letter) ? Math.round(this.#measure(letter, 1000, style)) : 0))
    this.#widths.set(style, widths)
    const descriptor = this.#next()
    const vertical = '/Ascent 718 /Descent -207 /CapHeight 718'
    this.#object(descriptor, `<< /Type /FontDescriptor /FontName /${name} ${metrics} ${vertical} >>`)
    const font = this.#next()
    const is = `/Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding`
    const letters = `/FirstChar ${FIRST} /LastChar 255 /Widths [${widths.slice(FIRST).join(' ')}]`
    this.#object(font, `<< ${is} ${letters} /FontDescriptor ${descriptor} 0 R >>`)
    this.#fonts += ` /${style} ${font} 0 R`
  }

  /** Scales a text to its width as a whole, which is not that of its letters where some stand closer together. */
  #set({ text, style, x, y, size }: PlacedText): string {
    const codes = Array.from(text, (letter) => CODES.get(letter) ?? 0)
    const width = codes.reduce((sum, code) => sum + (this.#widths.get(style)?.[code] ?? 0), 0)
    const scale = width === 0 ? 100 : (100 * this.#measure(text, 1000, style)) / width
    const hex = codes.map((code) => code.toString(16).padStart(2, '0')).join('')
    return `BT /${style} ${number(size)} Tf ${number(scale)} Tz 1 0 0 -1 ${number(x)} ${number(y)} Tm <${hex}> Tj ET`
  }

  #addBitmap({ width, height, bits }: Bitmap): Promise<number> {
    const is = `/Type /XObject /Subtype /Image /ImageMask true /BitsPerComponent 1 /Decode [1 0]`
    return this.#addStream(`${is} /Width ${width} /Height ${height}`, bits)
  }

  async #addStream(entries: string, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    // The format `deflate` of browsers is zlib, which FlateDecode reads.
    const compressing = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate'))
    const compressed = new Uint8Array(await new Response(compressing).arrayBuffer())
    const id = this.#next()
    this.#begin(id)
    this.#write(`<< ${entries} /Filter /FlateDecode /Length ${compressed.length} >>\nstream\n`)
    this.#write(compressed)
    this.#write('\nendstream\nendobj\n')
    return id
  }

  #object(id: number, content: string): void {
    this.#begin(id)
    this.#write(`${content}\nendobj\n`)
  }

  #begin(id: number): void {
    this.#offsets[id] = this.#length
    this.#write(`${id} 0 obj\n`)
  }

  #next(): number {
    this.#last += 1
    return this.#last
  }

  /** Texts must be ASCII, so that their length is their number of bytes. */
  #write(part: Uint8Array<ArrayBuffer> | string): void {
    this.#parts.push(part)
    this.#length += part.length
  }
}

/** Writes a number without an exponent, which PDF does not allow, to a ten-thousandth of its unit. */
export const number = (value: number): string => String(Number(value.toFixed(4)))

/** Writes a text as UTF-16 with a byte order mark, in hexadecimal digits. */
function textString(text: string): string {
  const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16).padStart(4, '0'))
  return `<feff${units.join('')}>`
}
