import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { Button } from '../page/controls.tsx'
import { FieldNote } from '../page/sentence.tsx'
import { CODES, type Codes } from './layout.ts'
import { change, faults, MOST_CHARACTERS, options } from './options.ts'
import { FIELDS, type Field } from './wording.ts'

const FIELD_TITLES: Readonly<Record<Field, PlainKey>> = {
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
      <label class="check">
        <input
          type="checkbox"
          checked={options.value.isItalic}
          onChange={(event) => change({ isItalic: event.currentTarget.checked })}
        />
        {say('labels.italic')}
      </label>
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
  const insert = (field: Field) => {
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
        <div class="field" key={inputId(i)}>
          <label for={inputId(i)}>{say('labels.line', { number: i + 1 })}</label>
          <input
            id={inputId(i)}
            dir="auto"
            autocomplete="off"
            spellcheck={false}
            maxLength={MOST_CHARACTERS}
            aria-invalid={faults.value.has(`line-${i}`)}
            aria-describedby={`${inputId(i)}-note`}
            value={line}
            onClick={() => (current.value = i)}
            onInput={(event) => {
              current.value = i
              setLine(i, event.currentTarget.value)
            }}
          />
          <FieldNote name={`${inputId(i)}-note`} fault={faults.value.get(`line-${i}`)} />
        </div>
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
    <div class="field">
      <label for="label-codes">{say('labels.codes')}</label>
      <select
        id="label-codes"
        value={codes}
        aria-invalid={faults.value.has('codes')}
        aria-describedby="label-codes-note"
        onChange={({ currentTarget: { value } }) => {
          const found = CODES.find((each) => each === value)
          if (found !== undefined) change({ codes: found })
        }}
      >
        {CODES.map((each) => (
          <option key={each} value={each}>
            {say(CODE_TITLES[each])}
          </option>
        ))}
      </select>
      <FieldNote name="label-codes-note" fault={faults.value.get('codes')}>
        {codes === 'qr' ? '' : say('labels.barsNote')}
      </FieldNote>
    </div>
  )
}
