import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { type CsvRow, isNothing, SEPARATORS, type Separator } from '../../../src/import/csv-rows.ts'
import type { Mapping } from '../../../src/import/mapping.ts'
import { ENCODINGS, type Encoding } from './encoding.ts'
import { plantIn } from './plant-row.ts'
import type { Mode } from './run.ts'
import type { Reading, Sheet } from './sheet.ts'

interface ColumnsProps {
  readonly sheet: Sheet
  readonly mapping: Mapping
  readonly mode: Mode
  readonly isLocked: boolean
  readonly onMapping: (mapping: Mapping) => void
  readonly onMode: (mode: Mode) => void
  readonly onReopen: (chosen: Reading) => void
}

/** Lets the person say how to read a file, and previews its first plants. */
export function Columns(props: ColumnsProps): JSX.Element {
  const { sheet, mapping, mode, isLocked, onMapping, onMode, onReopen } = props
  const { encoding, separator, header } = sheet
  const choice = (title: string, value: number | undefined, none: string, take: (at: number | undefined) => void) => (
    <Choice
      title={title}
      value={String(value ?? '')}
      options={[['', none], ...sheet.columns.map((column, i): [string, string] => [String(i), column])]}
      onChange={(chosen) => take(chosen === '' ? undefined : Number(chosen))}
    />
  )
  /** Chooses a part of the name. Without a column the part goes, and with it a gap. */
  const takePart = (part: number) => (at: number | undefined) => {
    const before = mapping.name.slice(0, part)
    const after = mapping.name.slice(part + 1)
    onMapping({ ...mapping, name: at === undefined ? [...before, ...after] : [...before, at, ...after] })
  }
  const parts = mapping.name.length < sheet.columns.length ? [...mapping.name, undefined] : mapping.name
  return (
    <fieldset disabled={isLocked} class="columns">
      <legend>Columns</legend>
      <div class="fields">
        <Choice
          title="The names of the columns are in"
          value={String(header)}
          options={[
            ['0', 'no row: each row is a plant'],
            ...sheet.first.map((row): [string, string] => [String(row.number), `row ${row.number}: ${startOf(row)}`]),
          ]}
          onChange={(value) => onReopen({ encoding, separator, header: Number(value) })}
        />
        {choice('Id', mapping.id, 'none: the page assigns ids', (id) => onMapping({ ...mapping, id }))}
        {parts.map((part, i) =>
          i === 0
            ? choice('Name', part, 'choose a column', takePart(i))
            : choice(`Name, part ${i + 1}`, part, 'nothing more', takePart(i)),
        )}
        {choice('Tag', mapping.tag, 'none', (tag) => onMapping({ ...mapping, tag }))}
      </div>
      {mapping.name.length === 0 ? <RawPreview sheet={sheet} /> : <Preview sheet={sheet} mapping={mapping} />}
      <div class="fields">
        <Choice
          title="Plants that exist with another name or tag"
          value={mode}
          options={[
            ['add', 'stay as they are'],
            ['update', 'become as in the file'],
          ]}
          onChange={(value) => onMode(value === 'update' ? 'update' : 'add')}
        />
        <Choice
          title="Encoding"
          value={encoding}
          options={Object.entries(ENCODINGS)}
          onChange={(value) => onReopen({ encoding: value as Encoding, separator })}
        />
        <Choice
          title="Cells are separated by"
          value={separator}
          options={Object.entries(SEPARATORS)}
          onChange={(value) => onReopen({ encoding, separator: value as Separator })}
        />
      </div>
    </fieldset>
  )
}

/** Characters of a row that its choice shows. */
const START = 40

function startOf({ cells }: CsvRow): string {
  const text = cells.filter((cell) => !isNothing(cell)).join(', ')
  return text.length > START ? `${text.slice(0, START).toWellFormed()}…` : text
}

interface ChoiceProps {
  readonly title: string
  readonly value: string
  readonly options: readonly (readonly [string, string])[]
  readonly onChange: (value: string) => void
}

function Choice({ title, value, options, onChange }: ChoiceProps): JSX.Element {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{title}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Shows all columns of the sheet, so that the person can tell which one has the names. */
function RawPreview({ sheet }: { readonly sheet: Sheet }): JSX.Element {
  return (
    <section class="scroll" tabIndex={0} aria-label="The first rows of the sheet">
      <table>
        <thead>
          <tr>
            <th scope="col">Row</th>
            {sheet.columns.map((column, i) => (
              <th key={i} scope="col" dir="auto">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sheet.preview.map((row) => (
            <tr key={row.number}>
              <td>{row.number}</td>
              {sheet.columns.map((_, i) => (
                <td key={i} dir="auto">
                  {row.cells[i]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Preview({ sheet, mapping }: { readonly sheet: Sheet; readonly mapping: Mapping }): JSX.Element {
  const kept = [mapping.id, mapping.tag, ...mapping.name]
  const left = sheet.columns.filter((_, i) => !kept.includes(i))
  return (
    <>
      <section class="scroll" tabIndex={0} aria-label="The first plants">
        <table>
          <thead>
            <tr>
              <th scope="col">Row</th>
              <th scope="col">Id</th>
              <th scope="col">Name</th>
              <th scope="col">Tag</th>
            </tr>
          </thead>
          <tbody>
            {sheet.preview.map((row) => {
              const plant = plantIn(row, mapping, sheet.columns.length)
              return (
                <tr key={row.number}>
                  <td>{row.number}</td>
                  {typeof plant === 'string' ? (
                    <td colSpan={3}>{plant}</td>
                  ) : (
                    <>
                      <td>{plant.id === undefined ? <em>next free</em> : String(plant.id)}</td>
                      <td dir="auto">{plant.name}</td>
                      <td dir="auto">{plant.tag}</td>
                    </>
                  )}
                </tr>
              )
            })}
          </tbody>
        </table>
      </section>
      {left.length > 0 && (
        <p class="note">
          Not kept: {left.length === 1 ? 'the column' : 'the columns'}{' '}
          <bdi>{new Intl.ListFormat('en').format(left)}</bdi>.
        </p>
      )}
    </>
  )
}
