import type { JSX } from 'preact'
import { pathOf } from '../codes/qr-code.ts'
import { say } from '../language/language.ts'
import type { PlacedLabel } from './document.ts'
import { FONT_FAMILY } from './raster.ts'
import { labelsPerPage, placeOf, type Sheet } from './sheets.ts'
import type { Style } from './text.ts'

interface SheetPageProps {
  readonly sheet: Sheet
  readonly labels: readonly PlacedLabel[]
  /** The text that a screen reader reads for the page. */
  readonly title: string
  /** Whether to draw the edges of the labels. A printed sheet has them already. */
  readonly hasEdges?: boolean
}

const LOOKS: Readonly<Record<Style, Readonly<Record<string, string>>>> = {
  plain: {},
  bold: { 'font-weight': 'bold' },
  italic: { 'font-style': 'italic' },
}

/** A page of labels in its real size. */
export function SheetPage({ sheet, labels, title, hasEdges = false }: SheetPageProps): JSX.Element {
  const { width, height, labelWidth, labelHeight } = sheet
  return (
    <svg
      class="sheet"
      role="img"
      aria-label={title}
      width={`${width}mm`}
      height={`${height}mm`}
      viewBox={`0 0 ${width} ${height}`}
      font-family={FONT_FAMILY}
    >
      {labels.map(({ x, y, layout, codes, label }) => (
        <g key={String(label.id)} transform={`translate(${x} ${y})`}>
          {hasEdges && <rect class="edge" width={labelWidth} height={labelHeight} rx={2} />}
          {layout.runs.map(({ text, x, y, style, direction }) => (
            <text key={`${x} ${y}`} x={x} y={y} font-size={layout.size} direction={direction} {...LOOKS[style]}>
              {text}
            </text>
          ))}
          {codes.map(({ x, y, width, height, runs }) => (
            <path key={`${x} ${y}`} d={pathOf(runs)} transform={`translate(${x} ${y}) scale(${width} ${height})`} />
          ))}
        </g>
      ))}
    </svg>
  )
}

/** The lengths of the scale on a test page, of which it has the longest that fits on a label. */
const SCALES = [100, 50, 20, 10]

/** The frames of all labels of a sheet, and a scale: held against a sheet, they show whether the printer fits it. */
export function TestPage({ sheet }: { readonly sheet: Sheet }): JSX.Element {
  const { width, height, labelWidth, labelHeight } = sheet
  const scale = SCALES.find((length) => length < labelWidth) ?? 10
  const [x, y] = [sheet.left + (labelWidth - scale) / 2, sheet.top + labelHeight / 2]
  return (
    <svg
      class="sheet"
      role="img"
      aria-label={say('labels.testPage')}
      width={`${width}mm`}
      height={`${height}mm`}
      viewBox={`0 0 ${width} ${height}`}
      font-family={FONT_FAMILY}
    >
      {Array.from({ length: labelsPerPage(sheet) }, (_, i) => {
        const place = placeOf(sheet, i)
        return <rect key={i} class="frame" x={place.x} y={place.y} width={labelWidth} height={labelHeight} />
      })}
      <path class="frame" d={`M${x} ${y - 1}v2m0-1h${scale}m0-1v2`} />
      <text x={sheet.left + labelWidth / 2} y={y + 4} font-size={3} text-anchor="middle">
        {`${scale} mm`}
      </text>
    </svg>
  )
}
