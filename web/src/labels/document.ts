import { BAR_QUIET, code128Of } from '../codes/code-128.ts'
import { type LabelText, QUIET, qrCodeOf, type Run } from '../codes/qr-code.ts'
import { say } from '../language/language.ts'
import { type Box, type Format, type LabelLayout, layOut, sizeFor, type TextRun } from './layout.ts'
import { isInFonts, number, PdfWriter, type PlacedBitmap, type PlacedText } from './pdf.ts'
import { labelsPerPage, placeOf } from './sheets.ts'
import type { Measure } from './text.ts'
import { linesOf, type Wording } from './wording.ts'

/** A code at its place on a label. All lengths are millimetres. */
interface PlacedCode {
  /** The dark modules. */
  readonly runs: readonly Run[]
  /** The top left corner of the first module, from that of the label. */
  readonly x: number
  readonly y: number
  /** The size of a module. */
  readonly width: number
  readonly height: number
}

/** A label at its place on a page. */
export interface PlacedLabel {
  readonly label: LabelText
  /** The top left corner of the label, in millimetres from that of the page. */
  readonly x: number
  readonly y: number
  readonly layout: LabelLayout
  readonly codes: readonly PlacedCode[]
}

/** Returns the address in the code of a label. */
export type AddressOf = (id: bigint) => string

/** Labels to print on sheets of one kind. */
export interface LabelJob extends Format {
  readonly labels: readonly LabelText[]
  /** The number of labels that are missing on the first sheet, from its top left corner. */
  readonly skip: number
  readonly addressOf: AddressOf
  readonly wording: Wording
}

/** How the texts of a job are set. */
export interface Type {
  readonly measure: Measure
  /** The em of all texts, in millimetres. */
  readonly size: number
}

export const typeFor = (job: LabelJob, measure: Measure): Type => {
  const texts = job.labels.map((label) => linesOf(label, job.wording))
  return { measure, size: sizeFor(texts, job, measure) }
}

export const pagesOf = ({ labels, sheet, skip }: LabelJob): number =>
  Math.ceil((labels.length + skip) / labelsPerPage(sheet))

/**
 * A dot of a label printer in mm, or two of a laser printer. Modules of whole dots come out equally wide.
 */
export const DOT = 25.4 / 300

/** @param page counted from 0 @param dot of the printer */
export function labelsOfPage(job: LabelJob, page: number, { measure, size }: Type, dot = DOT): PlacedLabel[] {
  const { labels, sheet, skip, wording } = job
  const perPage = labelsPerPage(sheet)
  const begin = page * perPage - skip
  return labels.slice(Math.max(0, begin), begin + perPage).map((label, i) => {
    const { x, y } = placeOf(sheet, Math.max(0, begin) + skip + i)
    const layout = layOut(linesOf(label, wording), size, job, measure)
    return { label, x, y, layout, codes: codesOf(layout, label.id, job.addressOf, dot) }
  })
}

function codesOf({ qr, bars }: LabelLayout, id: bigint, addressOf: AddressOf, dot: number): PlacedCode[] {
  const placed: PlacedCode[] = []
  if (qr !== undefined) {
    const { size, runs } = qrCodeOf(addressOf(id))
    const module = moduleIn(qr, size + 2 * QUIET, dot)
    const margin = (qr.width - size * module) / 2
    placed.push({ runs, x: qr.x + margin, y: qr.y + margin, width: module, height: module })
  }
  if (bars !== undefined) {
    const { length, runs } = code128Of(id)
    const module = moduleIn(bars, length + 2 * BAR_QUIET, dot)
    placed.push({ runs, x: bars.x + (bars.width - length * module) / 2, y: bars.y, width: module, height: bars.height })
  }
  return placed
}

/** Returns the size of one of so many modules: whole dots. */
const moduleIn = ({ width }: Box, count: number, dot: number): number =>
  Math.max(1, Math.floor(width / count / dot + 1e-9)) * dot

/** The thinnest module that scanners and cameras read well: two dots of 300 dpi. */
export const LEAST_MODULE = 2 * DOT

/** Returns the first label with a code whose modules would be too thin. @param dot of the printer */
export function tooThin({ labels, addressOf, ...format }: LabelJob, dot = DOT): LabelText | undefined {
  const { qr, bars } = layOut([], 1, format, () => 0)
  // The longest id has the largest QR code.
  const longest = labels.toSorted((one, other) => String(other.id).length - String(one.id).length)[0]
  const isThin = (box: Box, count: number) =>
    moduleIn(box, count, dot) * count > box.width + 1e-9 || moduleIn(box, count, dot) < LEAST_MODULE - 1e-9
  if (longest !== undefined && qr !== undefined) {
    if (isThin(qr, qrCodeOf(addressOf(longest.id)).size + 2 * QUIET)) return longest
  }
  return bars && labels.find(({ id }) => isThin(bars, code128Of(id).length + 2 * BAR_QUIET))
}

const toDot = (length: number): number => Math.round(length / DOT) * DOT

/** Draws texts of a label as a bitmap. */
export type Raster = (layout: LabelLayout) => PlacedBitmap['bitmap']

/** Whether a PDF file has a text as text, and not as a bitmap. */
const isSet = ({ direction, text }: TextRun): boolean => direction === 'ltr' && isInFonts(text)

/**
 * Writes the labels as a PDF file, with texts that can be searched and copied where all viewers have their letters.
 *
 * @param raster draws the other texts
 *
 * @param onPage called after each page with the number of pages so far
 */
export async function pdfOf(
  job: LabelJob,
  { type, raster, onPage }: { type: Type; raster: Raster; onPage: (page: number) => void },
): Promise<Blob> {
  const writer = new PdfWriter(type.measure)
  const { width, height } = job.sheet
  for (let page = 0; page < pagesOf(job); page++) {
    const placed = labelsOfPage(job, page, type)
    const texts = placed.flatMap(({ x, y, layout: { runs, size } }) =>
      runs.filter(isSet).map((run): PlacedText => ({ ...run, x: x + run.x, y: y + run.y, size })),
    )
    const bitmaps = placed.flatMap(({ x, y, layout }): PlacedBitmap[] => {
      const runs = layout.runs.filter((run) => !isSet(run))
      if (runs.length === 0) return []
      const { text } = layout
      const bitmap = raster({ ...layout, runs })
      return [{ bitmap, x: x + text.x, y: y + text.y, width: text.width, height: text.height }]
    })
    await writer.addPage({ width, height, path: placed.flatMap(codePaths).join('\n'), texts, bitmaps })
    onPage(page + 1)
  }
  return writer.finish(say('view.labels'))
}

/** Draws all modules of a code as one path, because viewers leave hairlines between shapes of separate paths. */
const codePaths = ({ x, y, codes }: PlacedLabel): string[] =>
  codes.flatMap((code) => {
    const [left, top] = [toDot(x + code.x), toDot(y + code.y)]
    return code.runs.map((run) => {
      const at = [left + run.x * code.width, top + run.y * code.height]
      return `${[...at, run.length * code.width, code.height].map(number).join(' ')} re`
    })
  })
