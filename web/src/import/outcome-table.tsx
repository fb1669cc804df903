import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { Sentence } from '../page/sentence.tsx'
import type { Outcome } from './run.ts'

/** The most refused rows that the table shows. The saved report lists up to a thousand. */
const MOST_SHOWN = 100

/** Shows the figures of an import or of its check, and the refused rows with their reasons. */
export function OutcomeTable({ title, outcome }: { readonly title: string; readonly outcome: Outcome }): JSX.Element {
  const { added, updated, unchanged, leftOut, refused, refusedRows } = outcome
  const shown = refusedRows.slice(0, MOST_SHOWN)
  /** Headings that are left out stand among the refused rows. */
  const rows = refused + refusedRows.filter(({ isHeading }) => isHeading === true).length
  return (
    <>
      <h2>{title}</h2>
      <ul class="figures">
        <li>{say('import.added', { number: added })}</li>
        {updated > 0 && <li>{say('import.updated', { number: updated })}</li>}
        <li>{say('import.unchanged', { number: unchanged })}</li>
        {leftOut > 0 && <li>{say('import.leftOut', { number: leftOut })}</li>}
        <li class={refused > 0 ? 'bad' : undefined}>{say('import.refused', { number: refused })}</li>
      </ul>
      {shown.length > 0 && (
        <section class="scroll" tabIndex={0} aria-label={say('import.refusedRows')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{say('import.row')}</th>
                <th scope="col">{say('import.content')}</th>
                <th scope="col">{say('import.reason')}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ row, text, reason, isHeading }) => (
                <tr key={row} class={isHeading === true ? 'note' : undefined}>
                  <td>{row}</td>
                  <td dir="auto" translate={false}>
                    {text}
                  </td>
                  <td dir="auto">
                    <Sentence text={reason} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {rows > shown.length && <p class="note">{say('import.andMore', { more: rows - shown.length })}</p>}
    </>
  )
}
