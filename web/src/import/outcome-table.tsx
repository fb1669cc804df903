import type { JSX } from 'preact'
import type { Outcome } from './run.ts'

const number = new Intl.NumberFormat()
/** The most refused rows that the table shows. The saved report lists up to a thousand. */
const MOST_SHOWN = 100

/** Shows the figures of an import or of its check, and the refused rows with their reasons. */
export function OutcomeTable({ title, outcome }: { readonly title: string; readonly outcome: Outcome }): JSX.Element {
  const { added, updated, unchanged, leftOut, refused, refusedRows } = outcome
  const shown = refusedRows.slice(0, MOST_SHOWN)
  return (
    <>
      <h2>{title}</h2>
      <ul class="figures">
        <li>{number.format(added)} added</li>
        {updated > 0 && <li>{number.format(updated)} updated</li>}
        <li>{number.format(unchanged)} unchanged</li>
        {leftOut > 0 && <li>{number.format(leftOut)} left out</li>}
        <li class={refused > 0 ? 'bad' : undefined}>{number.format(refused)} refused</li>
      </ul>
      {refused > 0 && (
        <section class="scroll" tabIndex={0} aria-label="Refused rows">
          <table>
            <thead>
              <tr>
                <th scope="col">Row</th>
                <th scope="col">Reason</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ row, reason }) => (
                <tr key={row}>
                  <td>{row}</td>
                  <td dir="auto">{reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {refused > shown.length && <p class="note">And {number.format(refused - shown.length)} more.</p>}
    </>
  )
}
