import { say } from '../language/language.ts'
import { type QrCode, QUIET, qrCodeOf } from './code.ts'
import { type Box, type LabelLayout, type LabelText, layOut } from './layout.ts'
import { number, PdfWriter, type PlacedBitmap } from './pdf.ts'
import { labelsPerPage, placeOf, type Sheet } from './sheets.ts'
import type { Measure } from './text.ts'

/** A label at its place on a page. */
export interface PlacedLabel {
  readonly label: LabelText
  /** The top left corner of the label, in millimetres from that of the page. */
  readonly x: number
  readonly y: number
  readonly layout: LabelLayout
  readonly code: QrCode
}

/** Returns the address in the code of a label. */
export type AddressOf = (id: bigint) => string

/** Labels to print on sheets of one kind. */
export interface LabelJob {
  readonly labels: readonly LabelText[]
  readonly sheet: Sheet
  /** The number of labels that are missing on the first sheet, from its top left corner. */
  readonly skip: number
  readonly addressOf: AddressOf
}

export const pagesOf = ({ labels, sheet, skip }: LabelJob): number =>
  Math.ceil((labels.length + skip) / labelsPerPage(sheet))

/** @param page counted from 0 */
export function labelsOfPage({ labels, sheet, skip, addressOf }: LabelJob, page: number, measure: Measure) {
  const perPage = labelsPerPage(sheet)
  const begin = page * perPage - skip
  return labels.slice(Math.max(0, begin), begin + perPage).map((label, i): PlacedLabel => {
    const { x, y } = placeOf(sheet, Math.max(0, begin) + skip + i)
    return { label, x, y, layout: layOut(label, sheet, measure), code: qrCodeOf(addressOf(label.id)) }
  })
}

/** A dot of a label printer in mm, or two of a laser printer. Modules of whole dots come out equally wide. */
const DOT = 25.4 / 300

/** Returns the top left corner of a code in its box, and the size of one module, in millimetres. */
export function moduleGrid({ size }: QrCode, box: Box) {
  const module = Math.max(1, Math.floor(box.width / (size + 2 * QUIET) / DOT)) * DOT
  const margin = (box.width - size * module) / 2
  return { x: box.x + margin, y: box.y + margin, module }
}

const toDot = (length: number): number => Math.round(length / DOT) * DOT

/** Draws the texts of a label as a bitmap. */
export type Raster = (layout: LabelLayout) => PlacedBitmap['bitmap']

/**
 * Writes the labels as a PDF file.
 *
 * @param onPage called after each page with the number of pages so far
 */
export async function pdfOf(
  job: LabelJob,
  { measure, raster, onPage }: { measure: Measure; raster: Raster; onPage: (page: number) => void },
): Promise<Blob> {
  const writer = new PdfWriter()
  const { width, height } = job.sheet
  for (let page = 0; page < pagesOf(job); page++) {
    const placed = labelsOfPage(job, page, measure)
    const bitmaps = placed.map(({ x, y, layout }): PlacedBitmap => {
      const { text } = layout
      return { bitmap: raster(layout), x: x + text.x, y: y + text.y, width: text.width, height: text.height }
    })
    await writer.addPage({ width, height, path: placed.map(codePath).join('\n'), bitmaps })
    onPage(page + 1)
  }
  return writer.finish(say('view.labels'))
}

/** Draws all modules of a code as one path, because viewers leave hairlines between shapes of separate paths. */
function codePath({ x, y, layout, code }: PlacedLabel): string {
  const grid = moduleGrid(code, layout.code)
  const [left, top] = [toDot(x + grid.x), toDot(y + grid.y)]
  return code.runs
    .map((run) => {
      const at = [left + run.x * grid.module, top + run.y * grid.module]
      return `${[...at, run.length * grid.module, grid.module].map(number).join(' ')} re`
    })
    .join('\n')
}
