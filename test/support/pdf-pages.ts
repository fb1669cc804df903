import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PDFiumLibrary } from '@hyzyla/pdfium'
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader'

/** A page that Chrome's PDF library has drawn. */
export interface DrawnPage {
  /** Millimetres. */
  readonly width: number
  readonly height: number
  readonly pixels: Pixels
  /** What a search of the page finds. */
  readonly text: string
  /** Pixels per millimetre. */
  readonly scale: number
}

interface Pixels {
  readonly width: number
  readonly height: number
  /** From 0, black, to 255. */
  readonly grey: Uint8Array
}

/** A decoded code: its text, and the outer corners of its modules in millimetres. */
export interface FoundCode {
  readonly text: string
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

const POINTS_PER_MM = 72 / 25.4

let library: Promise<PDFiumLibrary> | undefined

export async function drawPages(pdf: Uint8Array, dpi: number): Promise<DrawnPage[]> {
  library ??= PDFiumLibrary.init()
  const document = await (await library).loadDocument(pdf)
  const scale = dpi / 25.4
  const pages: DrawnPage[] = []
  for (const page of document.pages()) {
    const { originalWidth, originalHeight } = page.getOriginalSize()
    const [width, height] = [originalWidth / POINTS_PER_MM, originalHeight / POINTS_PER_MM]
    const size = { width: Math.round(width * scale), height: Math.round(height * scale) }
    const text = page.getText()
    const { data } = await page.render({ ...size, scale: 1, colorSpace: 'Gray', render: 'bitmap' })
    // Copies the pixels, because the library draws the next page into the same memory.
    pages.push({ width, height, scale, text, pixels: { ...size, grey: Uint8Array.from(data) } })
  }
  document.destroy()
  return pages
}

let isPrepared = false

/** Reads the codes of a picture with ZXing, which many scanners use. @param picture as PNG or PGM */
export async function codesIn(picture: Uint8Array) {
  if (!isPrepared) {
    // Otherwise ZXing loads this file from the internet.
    const bytes = readFileSync(fileURLToPath(import.meta.resolve('zxing-wasm/reader/zxing_reader.wasm')))
    prepareZXingModule({ overrides: { wasmBinary: Uint8Array.from(bytes).buffer } })
    isPrepared = true
  }
  return readBarcodes(picture, { formats: ['QRCode', 'Code128'], maxNumberOfSymbols: 255 })
}

/** Reads the codes of a page. */
export async function codesOn({ pixels: { width, height, grey }, scale }: DrawnPage): Promise<FoundCode[]> {
  const found = await codesIn(Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), grey]))
  return found.map(({ text, position: { topLeft, bottomRight } }) => ({
    text,
    left: topLeft.x / scale,
    top: topLeft.y / scale,
    right: bottomRight.x / scale,
    bottom: bottomRight.y / scale,
  }))
}

/** The grey value at a point of the page in millimetres, from 0 (black) to 255. */
export const greyAt = ({ pixels, scale }: DrawnPage, x: number, y: number): number =>
  pixels.grey[Math.floor(y * scale) * pixels.width + Math.floor(x * scale)] ?? Number.NaN
