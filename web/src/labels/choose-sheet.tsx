import type { JSX } from 'preact'
import { PhoneAddress } from '../codes/service-address.tsx'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { Choice, Field } from '../page/controls.tsx'
import { change, faults, options, ROLL_WIDTH, type SheetKind, skip } from './options.ts'
import type { Sheet } from './sheets.ts'

const KINDS: readonly SheetKind[] = ['l7160', '5160', 'roll', 'own']

const titleOf = (kind: SheetKind): string =>
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
  const { kind, length, shift, own } = options.value
  return (
    <fieldset>
      <legend>{say('labels.sheet')}</legend>
      <Choice
        id="sheet-kind"
        label={say('labels.on')}
        value={kind}
        options={KINDS.map((each) => [each, titleOf(each)])}
        onChoose={(chosen) => change({ kind: chosen })}
      />
      {kind === 'roll' && (
        <>
          <NumberField name="length" titled="labels.length" value={length} onChange={(length) => change({ length })} />
          <NumberField name="shift" titled="labels.shift" value={shift} onChange={(shift) => change({ shift })} />
        </>
      )}
      {kind === 'own' && (
        <div class="measures">
          {MEASURES.map(([member, title]) => (
            <NumberField
              key={member}
              name={member}
              titled={title}
              value={own[member]}
              onChange={(value) => change({ own: { ...own, [member]: value } })}
            />
          ))}
        </div>
      )}
      {kind !== 'roll' && (
        <NumberField name="skip" titled="labels.used" value={skip.value} onChange={(value) => (skip.value = value)} />
      )}
      <PhoneAddress purpose={say('labels.codesPurpose')} />
    </fieldset>
  )
}

interface NumberFieldProps {
  readonly name: string
  readonly titled: PlainKey
  readonly value: number
  readonly onChange: (value: number) => void
}

function NumberField({ name, titled, value, onChange }: NumberFieldProps): JSX.Element {
  return (
    <Field
      id={`label-${name}`}
      label={say(titled)}
      fault={faults.value.get(name)}
      type="number"
      step="any"
      value={Number.isNaN(value) ? '' : value}
      onText={(text) => onChange(Number.parseFloat(text))}
    />
  )
}
