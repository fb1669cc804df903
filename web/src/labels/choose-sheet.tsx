import type { JSX } from 'preact'
import { change, faults, isLoopback, type Kind, options, ROLL_WIDTH, skip } from './options.ts'
import type { Sheet } from './sheets.ts'

const KINDS: readonly (readonly [Kind, string])[] = [
  ['l7160', 'Avery L7160: A4, 21 labels of 63.5 × 38.1 mm'],
  ['5160', 'Avery 5160: Letter, 30 labels of 66.7 × 25.4 mm'],
  ['roll', `Roll of ${ROLL_WIDTH} mm`],
  ['own', 'Another sheet'],
]

const MEASURES: readonly (readonly [keyof Sheet, string])[] = [
  ['width', 'Width of the sheet'],
  ['height', 'Height of the sheet'],
  ['columns', 'Labels in a row'],
  ['rows', 'Rows of labels'],
  ['labelWidth', 'Width of a label'],
  ['labelHeight', 'Height of a label'],
  ['left', 'From the left edge to the first label'],
  ['top', 'From the top edge to the first label'],
  ['across', 'From one label to the next in a row'],
  ['down', 'From one row to the next'],
  ['padding', 'Margin inside a label'],
]

/** Lets the person choose the sheet or roll, and the address in the codes. */
export function ChooseSheet(): JSX.Element {
  const { kind, length, own } = options.value
  return (
    <fieldset>
      <legend>Sheet</legend>
      <div class="field">
        <label for="sheet-kind">Labels on</label>
        <select
          id="sheet-kind"
          value={kind}
          onChange={({ currentTarget: { value } }) => {
            const found = KINDS.find(([name]) => name === value)
            if (found !== undefined) change({ kind: found[0] })
          }}
        >
          {KINDS.map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </div>
      {kind === 'roll' && (
        <NumberField
          name="length"
          title="Length of a label, mm"
          value={length}
          onChange={(value) => change({ length: value })}
        />
      )}
      {kind === 'own' && (
        <div class="measures">
          {MEASURES.map(([member, title]) => (
            <NumberField
              key={member}
              name={member}
              title={/^Labels|^Rows/.test(title) ? title : `${title}, mm`}
              value={own[member]}
              onChange={(value) => change({ own: { ...own, [member]: value } })}
            />
          ))}
        </div>
      )}
      {kind !== 'roll' && (
        <NumberField
          name="skip"
          title="Labels already used on the first sheet"
          value={skip.value}
          onChange={(value) => {
            skip.value = value
          }}
        />
      )}
      <PhoneAddress purpose="The code of each label leads to its plant there." />
    </fieldset>
  )
}

/** Asks for the address in codes that phones scan. The device remembers it. @param purpose of a good address */
export function PhoneAddress({ purpose }: { readonly purpose: string }): JSX.Element {
  return (
    <div class="field">
      <label for="label-base">Address of the service, for phones</label>
      <input
        id="label-base"
        type="url"
        autocomplete="off"
        placeholder={location.origin}
        aria-invalid={faults.value.has('base')}
        aria-describedby="label-base-note"
        value={options.value.base}
        onInput={(event) => change({ base: event.currentTarget.value })}
      />
      <Note name="label-base-note" fault={faults.value.get('base')}>
        {isLoopback.value
          ? 'The codes lead to this device alone. Give the address by which phones reach the service.'
          : purpose}
      </Note>
    </div>
  )
}

interface NumberFieldProps {
  readonly name: string
  readonly title: string
  readonly value: number
  readonly onChange: (value: number) => void
}

function NumberField({ name, title, value, onChange }: NumberFieldProps): JSX.Element {
  const fault = faults.value.get(name)
  return (
    <div class="field">
      <label for={`label-${name}`}>{title}</label>
      <input
        id={`label-${name}`}
        type="number"
        step="any"
        autocomplete="off"
        aria-invalid={fault !== undefined}
        aria-describedby={`label-${name}-note`}
        value={Number.isNaN(value) ? '' : value}
        onInput={(event) => onChange(event.currentTarget.valueAsNumber)}
      />
      <Note name={`label-${name}-note`} fault={fault} />
    </div>
  )
}

interface NoteProps {
  readonly name: string
  readonly fault: string | undefined
  readonly children?: string
}

/** Shows the fault of a field, or its purpose if there is no fault. */
function Note({ name, fault, children = '' }: NoteProps): JSX.Element {
  return (
    <span id={name} class={fault === undefined ? 'note' : 'note bad'}>
      {fault ?? children}
    </span>
  )
}
