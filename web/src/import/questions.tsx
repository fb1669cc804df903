import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { listOf, say } from '../language/language.ts'
import { Check } from '../page/controls.tsx'
import { Rest } from '../page/first-of.tsx'
import type { ImportJob } from './import-job.ts'
import { MOST_SHOWN, RowsTable, type TableRow } from './rows-table.tsx'
import type { Findings } from './run.ts'

interface QuestionsProps {
  readonly job: ImportJob
  readonly findings: Findings
  readonly client: PlantstoreClient
}

/** Asks what the person alone knows about some rows: whether they are plants, and which plants. */
export function Questions({ job, findings, client }: QuestionsProps): JSX.Element {
  const { duplicates, doubtful, similar, tagsAbove, noValues, noValueTexts } = findings
  const { dropsNoValues, fillsTags = false } = job.mapping.value
  return (
    <>
      {duplicates > 0 && (
        <Check
          isOn={job.leavesOut.value}
          onChange={(isOn) => {
            job.leavesOut.value = isOn
          }}
        >
          {say('import.leaveOut', { rows: say('import.rows', { count: duplicates }) })}
        </Check>
      )}
      {(tagsAbove > 0 || fillsTags) && (
        <Check isOn={fillsTags} onChange={(isOn) => void job.checkWith(client, { fillsTags: isOn })}>
          {say(fillsTags ? 'import.tagsFilled' : 'import.fillTags', { count: tagsAbove })}
        </Check>
      )}
      {noValues > 0 && (
        <fieldset class="question">
          <legend>{say('import.noValues', { count: noValues, texts: listOf(noValueTexts) })}</legend>
          <Choices
            name="no-values"
            chosen={dropsNoValues}
            texts={[say('import.noTags'), say('import.areTags')]}
            onChoose={(drops) => void job.checkWith(client, { dropsNoValues: drops })}
          />
        </fieldset>
      )}
      {doubtful.size > 0 && <DoubtfulRows job={job} findings={findings} />}
      {similar.length > 0 && <SimilarRows job={job} findings={findings} />}
    </>
  )
}

function DoubtfulRows({ job, findings: { doubtful } }: Pick<QuestionsProps, 'job' | 'findings'>): JSX.Element {
  const leaving = job.leaving.value
  const title = say('import.doubtful', { count: doubtful.size })
  return (
    <fieldset class="question">
      <legend>{title}</legend>
      <Rows
        title={title}
        heads={[say('stocktake.leaveOut'), say('import.content')]}
        label={(row) => say('import.leaveRow', { row })}
        chosen={leaving}
        rows={[...doubtful].map(([row, text]) => ({ row, cells: [text] }))}
        onToggle={(row) => {
          job.leaving.value = (leaving ?? new Set<number>()).symmetricDifference(new Set([row]))
        }}
      />
      <Choices
        name="doubtful"
        chosen={allOrNone(leaving, doubtful.size)}
        texts={[say('import.leaveDoubtful'), say('import.arePlants')]}
        onChoose={(leaves) => {
          job.leaving.value = new Set(leaves ? doubtful.keys() : [])
        }}
      />
    </fieldset>
  )
}

/** Whether all rows are chosen; undefined where only some are, or nothing is decided. */
const allOrNone = (chosen: ReadonlySet<number> | undefined, all: number): boolean | undefined =>
  chosen === undefined || (chosen.size > 0 && chosen.size < all) ? undefined : chosen.size > 0

function SimilarRows({ job, findings: { similar } }: Pick<QuestionsProps, 'job' | 'findings'>): JSX.Element {
  const changing = job.changing.value
  const all = new Set(similar.map(({ row }) => row.number))
  const title = say('import.similar', { count: similar.length })
  return (
    <fieldset class="question">
      <legend>{title}</legend>
      <Choices
        name="similar"
        chosen={allOrNone(changing, all.size)}
        texts={[say('import.changeThose'), say('import.addThem')]}
        onChoose={(changes) => {
          job.changing.value = changes ? all : new Set()
        }}
      />
      <Rows
        title={title}
        heads={[say('waiting.change'), say('plants.storedNow'), say('import.inSheet')]}
        label={(row, i) => say('import.changeRow', { id: similar[i]?.stored.id ?? 0n, row })}
        chosen={changing}
        rows={similar.map(({ row, plant, stored }) => ({
          row: row.number,
          cells: [textOf(stored, String(stored.id)), textOf(plant)],
        }))}
        onToggle={(row) => {
          job.changing.value = (changing ?? all).symmetricDifference(new Set([row]))
        }}
      />
    </fieldset>
  )
}

const textOf = ({ name, tag }: { readonly name: string; readonly tag?: string | undefined }, id?: string): string =>
  [...(id === undefined ? [] : [id]), name, ...(tag === undefined ? [] : [tag])].join(' · ')

interface ChoicesProps {
  readonly name: string
  /** Which of the two texts is chosen; undefined: none yet. */
  readonly chosen: boolean | undefined
  readonly texts: readonly [string, string]
  readonly onChoose: (first: boolean) => void
}

function Choices({ name, chosen, texts, onChoose }: ChoicesProps): JSX.Element {
  return (
    <>
      {texts.map((text, i) => (
        <label key={text} class="check">
          <input type="radio" name={name} checked={chosen === (i === 0)} onChange={() => onChoose(i === 0)} />
          {text}
        </label>
      ))}
    </>
  )
}

interface RowsProps {
  readonly title: string
  readonly heads: readonly string[]
  readonly rows: readonly TableRow[]
  /** Says what ticking a row does. */
  readonly label: (row: number, at: number) => string
  readonly chosen: ReadonlySet<number> | undefined
  readonly onToggle: (row: number) => void
}

/** Shows the first rows, each with a box to tick. */
function Rows({ title, heads, rows, label, chosen, onToggle }: RowsProps): JSX.Element {
  const shown = rows.slice(0, MOST_SHOWN).map(({ row, cells }, i) => {
    const isChosen = chosen?.has(row) === true
    const box = <input type="checkbox" aria-label={label(row, i)} checked={isChosen} onChange={() => onToggle(row)} />
    return { row, cells: [box, ...cells] }
  })
  return (
    <>
      <RowsTable title={title} heads={[say('import.row'), ...heads]} rows={shown} />
      <Rest count={rows.length - MOST_SHOWN} />
    </>
  )
}
