import type { ComponentChildren, JSX } from 'preact'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { idWithoutNumbers, lacksIds, usualReason } from '../../../src/import/sheet/look.ts'
import { IN_LIST, rowText } from '../../../src/import/sheet/row-text.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Button } from '../page/controls.tsx'
import { Sentence } from '../page/sentence.tsx'
import type { ImportJob } from './import-job.ts'
import type { Findings, Outcome } from './run.ts'

interface WhatHappensProps {
  readonly job: ImportJob
  readonly findings: Findings
  readonly outcome: Outcome
  readonly client: PlantstoreClient
}

/** Says how the page takes the sheet, and what makes it refuse most rows. */
export function WhatHappens({ job, findings, outcome, client }: WhatHappensProps): JSX.Element | null {
  const { columns, header, first } = job.sheet
  const mapping = job.mapping.value
  const { rows, plants, names, withoutId } = findings
  const heads = first.find(({ number }) => number === header)
  const unnumbered = idWithoutNumbers(columns, mapping)
  const own = (text: string): JSX.Element => <bdi translate={false}>{text}</bdi>
  const isWithoutIds = lacksIds(columns, mapping, findings)
  const reason = isWithoutIds || 2 * outcome.refused <= rows ? undefined : usualReason(outcome.refusedRows)
  const lines: ComponentChildren[] = [
    heads !== undefined && sayWith('import.headerRow', { row: header, names: own(rowText(heads, IN_LIST)) }),
    unnumbered !== undefined && sayWith('import.noNumbers', { column: own(unnumbered) }),
    names !== undefined && say('import.fewNames', { rows: say('import.rows', { count: plants }), names }),
    reason !== undefined && sayWith('import.mostRefused', { reason: <Sentence text={reason} /> }),
    isWithoutIds && (
      <>
        {sayWith('import.withoutId', {
          rows: say('import.rows', { count: withoutId }),
          column: own(columns[mapping.id ?? 0] ?? ''),
        })}{' '}
        <Button text={say('import.assignIds')} onClick={() => void job.checkWith(client, { id: undefined })} />
      </>
    ),
  ].filter((line) => line !== false)
  if (lines.length === 0) return null
  return (
    <ul class="note">
      {lines.map((line, i) => (
        <li key={i}>{line}</li>
      ))}
    </ul>
  )
}
