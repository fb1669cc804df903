import type { JSX } from 'preact'

/** The rows of a sheet that a table shows at most. */
export const MOST_SHOWN = 100

export interface TableRow {
  readonly row: number
  /** A text is one of the sheet. The last cell reaches to the end of the table. */
  readonly cells: readonly (string | JSX.Element | undefined)[]
  readonly isNote?: boolean | undefined
}

interface RowsTableProps {
  readonly title: string
  readonly heads: readonly (string | JSX.Element)[]
  readonly rows: readonly TableRow[]
}

/** Shows rows of a sheet below each other, with their numbers first. */
export function RowsTable({ title, heads, rows }: RowsTableProps): JSX.Element {
  return (
    <section class="scroll" tabIndex={0} aria-label={title}>
      <table>
        <thead>
          <tr>
            {heads.map((head, i) => (
              <th key={i} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_SHOWN).map(({ row, cells, isNote }) => (
            <tr key={row} class={isNote === true ? 'note' : undefined}>
              <td>{row}</td>
              {cells.map((cell, i) => (
                <td
                  key={i}
                  {...spanOf(heads.length - 1, cells.length, i)}
                  dir="auto"
                  translate={typeof cell !== 'string'}
                >
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** The last cell of a row with fewer ones reaches to the end. */
const spanOf = (all: number, count: number, i: number) => (i === count - 1 && count < all ? { colSpan: all - i } : {})
