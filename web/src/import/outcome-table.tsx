import type { JSX } from 'preact'
import { say, sayOf } from '../language/language.ts'
import { Rest } from '../page/first-of.tsx'
import { Sentence } from '../page/sentence.tsx'
import { figuresOf } from './report.ts'
import { MOST_SHOWN, RowsTable } from './rows-table.tsx'
import type { Outcome } from './run.ts'

/** Shows the figures of an import or of its check, and the refused rows with their reasons. */
export function OutcomeTable({ title, outcome }: { readonly title: string; readonly outcome: Outcome }): JSX.Element {
  const { updated, refused, refusedRows } = outcome
  const figures = figuresOf(outcome).filter(([title]) => title !== 'import.updated' || updated > 0)
  const shown = Math.min(refusedRows.length, MOST_SHOWN)
  /** Headings that are left out stand among the refused rows. */
  const rows = refused + refusedRows.filter(({ isHeading }) => isHeading === true).length
  return (
    <>
      <h2>{title}</h2>
      <ul class="plain figures">
        {figures.map(([title, count]) => (
          <li key={title} class={title === 'import.refused' && count > 0 ? 'bad' : undefined}>
            {sayOf(title, count)}
          </li>
        ))}
      </ul>
      {shown > 0 && (
        <RowsTable
          title={say('import.refusedRows')}
          heads={[say('import.row'), say('import.content'), say('import.reason')]}
          rows={refusedRows.map(({ row, text, reason, isHeading }) => ({
            row,
            cells: [text, <Sentence key={row} text={reason} />],
            isNote: isHeading,
          }))}
        />
      )}
      <Rest count={rows - shown} />
    </>
  )
}
