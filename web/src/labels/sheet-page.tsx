import type { JSX } from 'preact'
import { pathOf } from './code.ts'
import { moduleGrid, type PlacedLabel } from './document.ts'
import { FONT_FAMILY } from './raster.ts'
import type { Sheet } from './sheets.ts'

interface SheetPageProps {
  readonly sheet: Sheet
  readonly labels: readonly PlacedLabel[]
  /** The text that a screen reader reads for the page. */
  readonly title: string
  /** Whether to draw the edges of the labels. A printed sheet has them already. */
  readonly hasEdges?: boolean
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
      {labels.map(({ x, y, layout, code, label }) => (
        <g key={String(label.id)} transform={`translate(${x} ${y})`}>
          {hasEdges && <rect class="edge" width={labelWidth} height={labelHeight} rx={2} />}
          {layout.lines.map(({ text, x, y, size, weight, direction }) => (
            <text key={y} x={x} y={y} font-size={size} font-weight={weight} direction={direction}>
              {text}
            </text>
          ))}
          <CodePath code={code} layout={layout} />
        </g>
      ))}
    </svg>
  )
}

function CodePath({ code, layout }: Pick<PlacedLabel, 'code' | 'layout'>): JSX.Element {
  const { x, y, module } = moduleGrid(code, layout.code)
  return <path d={pathOf(code)} transform={`translate(${x} ${y}) scale(${module})`} />
}
