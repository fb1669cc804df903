import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import type { ImportJob } from './import-job.ts'
import type { Findings } from './run.ts'

/** The most rows that a question shows. */
const MOST_SHOWN = 100

interface QuestionsProps {
  readonly job: ImportJob
  readonly findings: Findings
  readonly client: PlantstoreClient
}

/** Asks what the person alone knows about some rows: whether they are plants, and which plants. */
export function Questions({ job, findings, client }: QuestionsProps): JSX.Element {
  const { duplicates, doubtful, similar, tagsAbove } = findings
  return (
    <>
      {duplicates > 0 && (
        <Check
          isChecked={job.leavesOut.value}
          text={say('import.leaveOut', { rows: say('import.rows', { count: duplicates }) })}
          onChange={(isChecked) => {
            job.leavesOut.value = isChecked
          }}
        />
      )}
      {(tagsAbove > 0 || job.fillsTags.value) && (
        <Check
          isChecked={job.fillsTags.value}
          text={say(job.fillsTags.value ? 'import.tagsFilled' : 'import.fillTags', { count: tagsAbove })}
          onChange={(isChecked) => void job.fillTags(client, isChecked)}
        />
      )}
      {doubtful.size > 0 && (
        <fieldset class="question">
          <legend>{say('import.doubtful', { count: doubtful.size })}</legend>
          <Rows
            title={say('import.doubtful', { count: doubtful.size })}
            heads={[say('import.row'), say('import.content')]}
            rows={[...doubtful].map(([row, text]) => [row, text])}
          />
          <Choices
            name="doubtful"
            chosen={job.leavesDoubtful.value}
            texts={[say('import.leaveDoubtful'), say('import.arePlants')]}
            onChoose={(leaves) => {
              job.leavesDoubtful.value = leaves
            }}
          />
        </fieldset>
      )}
      {similar.length > 0 && <SimilarRows job={job} findings={findings} />}
    </>
  )
}

function SimilarRows({ job, findings: { similar } }: Pick<QuestionsProps, 'job' | 'findings'>): JSX.Element {
  const changing = job.changing.value
  const all = new Set(similar.map(({ row }) => row))
  const title = say('import.similar', { count: similar.length })
  const toggle = (row: number) => {
    job.changing.value = (changing ?? all).symmetricDifference(new Set([row]))
  }
  return (
    <fieldset class="question">
      <legend>{title}</legend>
      <Choices
        name="similar"
        chosen={
          changing === undefined || (changing.size > 0 && changing.size < all.size) ? undefined : changing.size > 0
        }
        texts={[say('import.changeThose'), say('import.addThem')]}
        onChoose={(changes) => {
          job.changing.value = changes ? all : new Set()
        }}
      />
      <Rows
        title={title}
        heads={[say('import.row'), say('import.changesIt'), say('import.storedAs'), say('import.inSheet')]}
        rows={similar.map(({ row, plant, stored }) => [
          row,
          <input
            key={row}
            type="checkbox"
            aria-label={say('import.changeRow', { id: stored.id, row })}
            checked={changing?.has(row) === true}
            onChange={() => toggle(row)}
          />,
          textOf(stored, String(stored.id)),
          textOf(plant),
        ])}
      />
    </fieldset>
  )
}

const textOf = ({ name, tag }: { readonly name: string; readonly tag?: string | undefined }, id?: string): string =>
  [...(id === undefined ? [] : [id]), name, ...(tag === undefined ? [] : [tag])].join(' · ')

interface CheckProps {
  readonly text: string
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
}

function Check({ text, isChecked, onChange }: CheckProps): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={isChecked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {text}
    </label>
  )
}

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
  readonly rows: readonly (readonly (number | string | JSX.Element)[])[]
}

function Rows({ title, heads, rows }: RowsProps): JSX.Element {
  return (
    <>
      <section class="scroll" tabIndex={0} aria-label={title}>
        <table>
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_SHOWN).map(([row, ...cells]) => (
              <tr key={String(row)}>
                <td>{row}</td>
                {cells.map((cell, i) => (
                  <td key={i} dir="auto" translate={typeof cell !== 'string'}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > MOST_SHOWN && <p class="note">{say('import.andMore', { more: rows.length - MOST_SHOWN })}</p>}
    </>
  )
}
