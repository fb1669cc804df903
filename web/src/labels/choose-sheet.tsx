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
          <NumberField
            name="length"
            title={say('labels.length')}
            value={length}
            onChange={(value) => change({ length: value })}
          />
          <NumberField
            name="shift"
            title={say('labels.shift')}
            value={shift}
            onChange={(value) => change({ shift: value })}
          />
        </>
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
          onChange={(value) => (skip.value = value)}
        />
      )}
      <PhoneAddress purpose={say('labels.codesPurpose')} />
    </fieldset>
  )
}

interface NumberFieldProps {
  readonly name: string
  readonly title: string
  readonly value: number
  readonly onChange: (value: number) => void
}

function NumberField({ name, title, value, onChange }: NumberFieldProps): JSX.Element {
  return (
    <Field
      id={`label-${name}`}
      label={title}
      fault={faults.value.get(name)}
      type="number"
      step="any"
      value={Number.isNaN(value) ? '' : value}
      onText={(text) => onChange(Number.parseFloat(text))}
    />
  )
}
