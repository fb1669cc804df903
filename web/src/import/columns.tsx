import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { SEPARATORS, type Separator } from './csv-rows.ts'
import { ENCODINGS, type Encoding } from './encoding.ts'
import { type Mapping, plantIn } from './mapping.ts'
import type { Mode } from './run.ts'
import type { Sheet } from './sheet.ts'

interface ColumnsProps {
  readonly sheet: Sheet
  readonly mapping: Mapping
  readonly mode: Mode
  readonly isLocked: boolean
  readonly onMapping: (mapping: Mapping) => void
  readonly onMode: (mode: Mode) => void
  readonly onReopen: (chosen: Partial<Pick<Sheet, 'encoding' | 'separator'>>) => void
}

/** Lets the person say how to read a file, and previews its first plants. */
export function Columns(props: ColumnsProps): JSX.Element {
  const { sheet, mapping, mode, isLocked, onMapping, onMode, onReopen } = props
  const choice = (title: string, member: keyof Mapping, none: string) => (
    <Choice
      title={title}
      value={String(mapping[member] ?? '')}
      options={[['', none], ...sheet.columns.map((column, i): [string, string] => [String(i), column])]}
      onChange={(value) => onMapping({ ...mapping, [member]: value === '' ? undefined : Number(value) })}
    />
  )
  return (
    <fieldset disabled={isLocked} class="columns">
      <legend>Columns</legend>
      <div class="fields">
        {choice('Id', 'id', 'none: the page assigns ids')}
        {choice('Name', 'name', 'choose a column')}
        {choice('Tag', 'tag', 'none')}
      </div>
      <Preview sheet={sheet} mapping={mapping} />
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
          value={sheet.encoding}
          options={Object.entries(ENCODINGS)}
          onChange={(value) => onReopen({ encoding: value as Encoding, separator: sheet.separator })}
        />
        <Choice
          title="Cells are separated by"
          value={sheet.separator}
          options={Object.entries(SEPARATORS)}
          onChange={(value) => onReopen({ encoding: sheet.encoding, separator: value as Separator })}
        />
      </div>
    </fieldset>
  )
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

function Preview({ sheet, mapping }: { readonly sheet: Sheet; readonly mapping: Mapping }): JSX.Element {
  return (
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
            const plant = plantIn(row, mapping)
            return (
              <tr key={row.number}>
                <td>{row.number}</td>
                {typeof plant === 'string' ? (
                  <td colSpan={3}>{mapping.name === undefined ? '' : plant}</td>
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
  )
}
