import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { change, faults, isLoopback, type Kind, options, PUBLIC_URL, ROLL_WIDTH, skip } from './options.ts'
import type { Sheet } from './sheets.ts'

const KINDS: readonly Kind[] = ['l7160', '5160', 'roll', 'own']

const titleOf = (kind: Kind): string =>
  kind === 'roll'
    ? say('labels.kindRoll', { width: ROLL_WIDTH })
    : say(({ l7160: 'labels.kindL7160', '5160': 'labels.kind5160', own: 'labels.kindOwn' } as const)[kind])

const MEASURES: readonly (readonly [keyof Sheet, PlainKey])[] = [
  ['width', 'labels.width'],
  ['height', 'labels.height'],
  ['columns', 'labels.columns'],
  ['rows', 'labels.rows'],
  ['labelWidth', 'labels.labelWidth'],
  ['labelHeight', 'labels.labelHeight'],
  ['left', 'labels.left'],
  ['top', 'labels.top'],
  ['across', 'labels.across'],
  ['down', 'labels.down'],
  ['padding', 'labels.padding'],
]

/** Lets the person choose the sheet or roll, and the address in the codes. */
export function ChooseSheet(): JSX.Element {
  const { kind, length, own } = options.value
  return (
    <fieldset>
      <legend>{say('labels.sheet')}</legend>
      <div class="field">
        <label for="sheet-kind">{say('labels.on')}</label>
        <select
          id="sheet-kind"
          value={kind}
          onChange={({ currentTarget: { value } }) => {
            const found = KINDS.find((each) => each === value)
            if (found !== undefined) change({ kind: found })
          }}
        >
          {KINDS.map((each) => (
            <option key={each} value={each}>
              {titleOf(each)}
            </option>
          ))}
        </select>
      </div>
      {kind === 'roll' && (
        <NumberField
          name="length"
          title={say('labels.length')}
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
              title={say(title)}
              value={own[member]}
              onChange={(value) => change({ own: { ...own, [member]: value } })}
            />
          ))}
        </div>
      )}
      {kind !== 'roll' && (
        <NumberField
          name="skip"
          title={say('labels.used')}
          value={skip.value}
          onChange={(value) => {
            skip.value = value
          }}
        />
      )}
      <PhoneAddress purpose={say('labels.codesPurpose')} />
    </fieldset>
  )
}

/** Asks for the address in codes that phones scan. The device remembers it. @param purpose of a good address */
export function PhoneAddress({ purpose }: { readonly purpose: string }): JSX.Element {
  return (
    <div class="field">
      <label for="label-base">{say('labels.address')}</label>
      <input
        id="label-base"
        type="url"
        autocomplete="off"
        placeholder={PUBLIC_URL}
        aria-invalid={faults.value.has('base')}
        aria-describedby="label-base-note"
        value={options.value.base}
        onInput={(event) => change({ base: event.currentTarget.value })}
      />
      <Note name="label-base-note" fault={faults.value.get('base')}>
        {isLoopback.value ? say('labels.loopback') : purpose}
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
