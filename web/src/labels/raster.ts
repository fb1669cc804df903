import { say } from '../language/language.ts'
import { PageError } from '../page/said.ts'
import type { PlacedLabel } from './document.ts'
import type { LabelLayout } from './layout.ts'
import type { Bitmap } from './pdf.ts'
import type { Sheet } from './sheets.ts'
import type { Measure, Style } from './text.ts'

/** The browser takes letters that these fonts lack from other fonts of the system, so it draws every script. */
export const FONT_FAMILY = 'Arial, Helvetica, sans-serif'

const MM_PER_INCH = 25.4
/** The resolution of laser printers, and twice that of most label printers. */
const DPI = 600
/** The most pixels of a canvas on an iPhone. Only labels of half a sheet or more have as many. */
const MOST_PIXELS = 16e6

const FONTS: Readonly<Record<Style, string>> = { plain: '', bold: 'bold ', italic: 'italic ' }
const fontOf = (style: Style, pixels: number): string => `${FONTS[style]}${pixels}px ${FONT_FAMILY}`

function contextOf(width: number, height: number): CanvasRenderingContext2D {
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  const context = canvas.getContext('2d', { willReadFrequently: true })
  if (context === null) throw new PageError(say('labels.cannotDraw'))
  return context
}

/** Measures texts in the fonts of the browser. */
export function canvasMeasure(): Measure {
  const context = contextOf(1, 1)
  // Browsers round the widths of small texts.
  const size = 100
  return (text, em, style) => {
    context.font = fontOf(style, size)
    return (context.measureText(text).width * em) / size
  }
}

/** Has the browser draw the texts of a label in any script, and converts them to black and white. */
export function rasterOf(layout: LabelLayout): Bitmap {
  const { text: box } = layout
  const dots = Math.min(DPI / MM_PER_INCH, Math.sqrt(MOST_PIXELS / (box.width * box.height)))
  const [width, height] = [Math.floor(box.width * dots), Math.floor(box.height * dots)]
  const context = contextOf(width, height)
  drawTexts(context, layout, dots, -box.x, -box.y)
  return bitmapOf(context)
}

/**
 * Draws a page as the dots of a printer, whose codes begin at whole dots.
 *
 * @param dots of the printer in a millimetre
 * @throws PageError if the page is larger than any that a label printer prints
 */
export function pageRaster(labels: readonly PlacedLabel[], { width, height }: Sheet, dots: number): Bitmap {
  const size = [Math.round(width * dots), Math.round(height * dots)] as const
  if (size[0] * size[1] > MOST_PIXELS) throw new PageError(say('labels.cannotDraw'))
  const context = contextOf(...size)
  for (const { x, y, layout, codes } of labels) {
    drawTexts(context, layout, dots, x, y)
    for (const code of codes) {
      const [left, top] = [Math.round((x + code.x) * dots), Math.round((y + code.y) * dots)]
      // Modules are whole dots wide.
      const [across, down] = [code.width * dots, code.height * dots]
      for (const run of code.runs)
        context.fillRect(left + run.x * across, top + run.y * down, run.length * across, down)
    }
  }
  return bitmapOf(context)
}

/** @param x millimetres from the left edge of the picture to the label @param y from its top edge */
function drawTexts(context: CanvasRenderingContext2D, layout: LabelLayout, dots: number, x: number, y: number): void {
  for (const run of layout.runs) {
    context.font = fontOf(run.style, layout.size * dots)
    context.direction = run.direction
    context.textAlign = 'start'
    context.fillText(run.text, (x + run.x) * dots, (y + run.y) * dots)
  }
}

function bitmapOf(context: CanvasRenderingContext2D): Bitmap {
  const { width, height } = context.canvas
  return { width, height, bits: bitsOf(context.getImageData(0, 0, width, height).data, width, height) }
}

/** The thresholds of ordered dithering over 4 x 4 pixels (Bayer matrix). */
const SPREAD = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5].map((rank) => (rank + 0.5) * 16)

/** Makes pixels of black letters black if more than half covered, and dithers coloured ones, such as those of emoji. */
function bitsOf(pixels: Uint8ClampedArray, width: number, height: number): Uint8Array<ArrayBuffer> {
  const rowBytes = Math.ceil(width / 8)
  const bits = new Uint8Array(rowBytes * height)
  for (let i = 3, at = 0; i < pixels.length; i += 4, at++) {
    const alpha = pixels[i] ?? 0
    if (alpha === 0) continue
    const [x, y] = [at % width, Math.floor(at / width)]
    const [red = 0, green = 0, blue = 0] = [pixels[i - 3], pixels[i - 2], pixels[i - 1]]
    const isBlack = red + green + blue === 0
    const light = (0.3 * red + 0.59 * green + 0.11 * blue) / 255
    const threshold = isBlack ? 127 : (SPREAD[(y % 4) * 4 + (x % 4)] ?? 127)
    if (alpha * (1 - light) > threshold) {
      const byte = y * rowBytes + (x >> 3)
      bits[byte] = (bits[byte] ?? 0) | (0x80 >> (x & 7))
    }
  }
  return bits
}
