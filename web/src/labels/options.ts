import { computed, signal } from '@preact/signals'
import { addressOf, baseFault, keep, labelsKept } from '../codes/service-address.tsx'
import { dateOf, listOf, say } from '../language/language.ts'
import { isText, recordIn } from '../page/json.ts'
import { inDocument } from '../plants/many/chosen-labels.ts'
import { type LabelJob, LEAST_MODULE, tooThin } from './document.ts'
import { CODES, type Codes } from './layout.ts'
import { A5160, faultsOf, L7160, labelsPerPage, ROLL_PADDING, roll, type Sheet } from './sheets.ts'
import { DEFAULT_LINES, FIELDS, unknownFields } from './wording.ts'

const KINDS = ['l7160', '5160', 'roll', 'own'] as const
export type SheetKind = (typeof KINDS)[number]

/** The choices of the person, which the browser stores on this device. */
export interface Options {
  readonly kind: SheetKind
  /** The length that the printer cuts the roll to, in millimetres. */
  readonly length: number
  /** How far labels of a roll are shifted to the right, in millimetres. */
  readonly shift: number
  readonly own: Sheet
  /** Whether genus and species are in italics. */
  readonly isItalic: boolean
  /** Lines of own text with fields. */
  readonly lines: readonly string[]
  readonly codes: Codes
  /** The resolution of the label printer. */
  readonly dpi: (typeof PRINT_HEADS)[number]
}

/** The resolutions of most label printers, in dots per inch. */
export const PRINT_HEADS = [203, 300] as const

/** The most characters of a line, as many as a tag has. */
export const MOST_CHARACTERS = 200

export const ROLL_WIDTH = 62
const SHORTEST = 15
const LONGEST = 300

/** Defaults replace what the device keeps none of, or an invalid one. */
export const options = computed((): Options => {
  const { kind, length, shift, own, isItalic, lines, codes, dpi } = labelsKept.value
  const measures = Object.entries(recordIn(own)).filter(([, value]) => typeof value === 'number')
  const texts: readonly unknown[] = Array.isArray(lines) ? lines : []
  return {
    kind: KINDS.find((each) => each === kind) ?? 'l7160',
    length: typeof length === 'number' ? length : 29,
    shift: typeof shift === 'number' ? shift : 0,
    own: { ...L7160, ...Object.fromEntries(measures) },
    isItalic: isItalic === true,
    lines: DEFAULT_LINES.map((line, i) => (isText(texts[i]) ? texts[i] : line)),
    codes: CODES.find((each) => each === codes) ?? 'qr',
    dpi: PRINT_HEADS.find((each) => each === dpi) ?? 203,
  }
})

/** Labels that are missing on the first sheet. The device does not store this: the next sheet is a full one. */
export const skip = signal(0)

export const change = (part: Partial<Options>): boolean => keep(part)

export const sheet = computed((): Sheet => {
  const { kind, length, shift, own } = options.value
  return { l7160: L7160, '5160': A5160, roll: roll(ROLL_WIDTH, length, shift), own }[kind]
})

/** The faults of the options, by the names of the fields. */
export const faults = computed((): ReadonlyMap<string, string> => {
  const { kind, length, shift, lines } = options.value
  const found = new Map<string, string>(kind === 'own' ? faultsOf(sheet.value) : [])
  if (kind === 'roll' && !(length >= SHORTEST && length <= LONGEST)) {
    found.set('length', say('labels.badNumber', { least: SHORTEST, most: LONGEST }))
  }
  if (kind === 'roll' && !(Math.abs(shift) <= ROLL_PADDING)) {
    found.set('shift', say('labels.badNumber', { least: -ROLL_PADDING, most: ROLL_PADDING }))
  }
  if (baseFault.value !== undefined) found.set('base', baseFault.value)
  const last = labelsPerPage(sheet.value) - 1
  if (found.size === 0 && !(Number.isInteger(skip.value) && skip.value >= 0 && skip.value <= last)) {
    found.set('skip', say('labels.badWhole', { least: 0, most: last }))
  }
  for (const [i, line] of lines.entries()) {
    const [unknown] = unknownFields(line)
    const fields = listOf(FIELDS.map((field) => `{${field}}`))
    if (unknown !== undefined) found.set(`line-${i}`, say('labels.unknownField', { field: `{${unknown}}`, fields }))
  }
  const thin = found.size === 0 ? tooThin(wanted.value) : undefined
  if (thin !== undefined) found.set('codes', say('labels.thinCode', { id: thin.id, least: LEAST }))
  return found
})

/** The least width of a line, rounded for people. */
export const LEAST = Math.round(LEAST_MODULE * 100) / 100

/** Whether the person wants codes that lead to this device alone. Another visit asks again. */
export const mayLeadHere = signal(false)

const wanted = computed((): LabelJob => {
  const { isItalic, lines, codes } = options.value
  const wording = { lines, isItalic, date: dateOf(new Date()) }
  return { labels: inDocument.value.labels, sheet: sheet.value, codes, skip: skip.value, addressOf, wording }
})

/** undefined while no label is chosen or an option is invalid. */
export const job = computed((): LabelJob | undefined =>
  wanted.value.labels.length === 0 || faults.value.size > 0 ? undefined : wanted.value,
)
