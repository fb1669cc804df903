import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { Button, Check, Choice, Field } from '../page/controls.tsx'
import { CODES, type Codes } from './layout.ts'
import { change, faults, MOST_CHARACTERS, options } from './options.ts'
import { FIELDS, type Field as FieldName } from './wording.ts'

const FIELD_TITLES: Readonly<Record<FieldName, PlainKey>> = {
  name: 'plants.name',
  tag: 'plants.tag',
  id: 'plants.id',
  date: 'labels.date',
}

const CODE_TITLES: Readonly<Record<Codes, PlainKey>> = {
  qr: 'labels.qr',
  bars: 'labels.bars',
  both: 'labels.qrAndBars',
}

const inputId = (line: number): string => `label-line-${line}`

/** Lets the person choose what the labels say, and how. */
export function ChooseText(): JSX.Element {
  return (
    <fieldset>
      <legend>{say('labels.text')}</legend>
      <Lines />
      <Check isOn={options.value.isItalic} onChange={(isItalic) => change({ isItalic })}>
        {say('labels.italic')}
      </Check>
      <ChooseCodes />
    </fieldset>
  )
}

function Lines(): JSX.Element {
  const { lines } = options.value
  /** The line that the person has edited or touched last: the buttons insert there. Tab passes all lines on its way. */
  const current = useSignal(0)
  const setLine = (at: number, text: string) =>
    change({ lines: lines.map((line, i) => (i === at ? text.slice(0, MOST_CHARACTERS) : line)) })
  const insert = (field: FieldName) => {
    const input = document.getElementById(inputId(current.value))
    if (!(input instanceof HTMLInputElement)) return
    const { selectionStart, selectionEnd, value } = input
    input.setRangeText(`{${field}}`, selectionStart ?? value.length, selectionEnd ?? value.length, 'end')
    setLine(current.value, input.value)
    input.focus()
  }
  return (
    <>
      {lines.map((line, i) => (
        <Field
          key={inputId(i)}
          id={inputId(i)}
          label={say('labels.line', { number: i + 1 })}
          fault={faults.value.get(`line-${i}`)}
          spellcheck={false}
          maxLength={MOST_CHARACTERS}
          value={line}
          onClick={() => (current.value = i)}
          onText={(text) => {
            current.value = i
            setLine(i, text)
          }}
        />
      ))}
      <div class="fields" role="group" aria-label={say('labels.insert', { number: current.value + 1 })}>
        <span class="note">{say('labels.insert', { number: current.value + 1 })}</span>
        {FIELDS.map((field) => (
          <Button text={say(FIELD_TITLES[field])} key={field} onClick={() => insert(field)} />
        ))}
      </div>
    </>
  )
}

function ChooseCodes(): JSX.Element {
  const { codes } = options.value
  return (
    <Choice
      id="label-codes"
      label={say('labels.codes')}
      fault={faults.value.get('codes')}
      note={codes === 'qr' ? undefined : say('labels.barsNote')}
      value={codes}
      options={CODES.map((each) => [each, say(CODE_TITLES[each])])}
      onChoose={(chosen) => change({ codes: chosen })}
    />
  )
}
