import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { Rest } from '../page/first-of.tsx'
import { Sentence } from '../page/sentence.tsx'
import { MOST_SHOWN, RowsTable } from './rows-table.tsx'
import type { Outcome } from './run.ts'

/** Shows the figures of an import or of its check, and the refused rows with their reasons. */
export function OutcomeTable({ title, outcome }: { readonly title: string; readonly outcome: Outcome }): JSX.Element {
  const { added, updated, unchanged, leftOut, refused, refusedRows } = outcome
  const shown = Math.min(refusedRows.length, MOST_SHOWN)
  /** Headings that are left out stand among the refused rows. */
  const rows = refused + refusedRows.filter(({ isHeading }) => isHeading === true).length
  return (
    <>
      <h2>{title}</h2>
      <ul class="plain figures">
        <li>{say('import.added', { number: added })}</li>
        {updated > 0 && <li>{say('import.updated', { number: updated })}</li>}
        <li>{say('import.unchanged', { number: unchanged })}</li>
        {leftOut > 0 && <li>{say('import.leftOut', { number: leftOut })}</li>}
        <li class={refused > 0 ? 'bad' : undefined}>{say('import.refused', { number: refused })}</li>
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
