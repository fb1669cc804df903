import type { LabelText } from '../codes/qr-code.ts'
import { onOneLine, type Style } from './text.ts'

/** A piece of a line. The id alone is bold: people read it out, and it is never cut. */
export interface Part {
  readonly text: string
  readonly style: Style
}

export type Line = readonly Part[]

/** What the person wants on each label. */
export interface Wording {
  /** Lines of own text, in which `{name}` stands for the name of the plant. */
  readonly lines: readonly string[]
  /** Whether genus and species are set in italics, as botanists write them. */
  readonly isItalic: boolean
  /** The day of printing, for `{date}`. */
  readonly date: string
}

export const FIELDS = ['name', 'tag', 'id', 'date'] as const
export type Field = (typeof FIELDS)[number]

export const DEFAULT_LINES: readonly string[] = ['{name}', '{tag}', '{id}']

const FIELD = /\{([^{}]*)\}/
const isField = (name: string): name is Field => FIELDS.some((field) => field === name)

/** The names in braces that are no field. */
export const unknownFields = (line: string): string[] => namesIn(line).filter((name) => !isField(name))

const namesIn = (line: string): string[] => line.split(FIELD).filter((_, i) => i % 2 === 1)

/** Fills in the fields of each line. */
export const linesOf = (label: LabelText, wording: Wording): Line[] =>
  wording.lines.map((line) =>
    line
      .split(FIELD)
      .flatMap((piece, i): Part[] => {
        if (i % 2 === 0) return [{ text: piece, style: 'plain' }]
        return isField(piece) ? partsOf(piece, label, wording) : [{ text: `{${piece}}`, style: 'plain' }]
      })
      .filter(({ text }) => text !== ''),
  )

function partsOf(field: Field, { id, name, tag }: LabelText, { isItalic, date }: Wording): Part[] {
  if (field === 'id') return [{ text: String(id), style: 'bold' }]
  if (field === 'name') return isItalic ? botanical(onOneLine(name)) : [{ text: onOneLine(name), style: 'plain' }]
  return [{ text: field === 'tag' ? onOneLine(tag ?? '') : date, style: 'plain' }]
}

const GENUS = /^\p{Lu}[\p{Ll}-]+$/u
/** A species, or what follows a rank, such as `corymbifera` in `Rosa canina var. corymbifera`. */
const EPITHET = /^\p{Ll}[\p{Ll}-]+$/u
const UPRIGHT = /^(?:[×x+]|(?:subsp|ssp|subvar|var|subf|f)\.)$/

/** Sets genus, species and what is below them in italics, as far as the beginning of a name is Latin. */
function botanical(name: string): Part[] {
  const parts: Part[] = []
  let expected = GENUS
  let end = 0
  for (const { 0: gap, 1: mark = '', 2: word = '', index } of name.matchAll(/\s*([×+]?)(\S+)/gu)) {
    if (expected.test(word)) {
      parts.push(
        { text: name.slice(index, index + gap.length - word.length), style: 'plain' },
        { text: word, style: 'italic' },
      )
      expected = EPITHET
    } else if (UPRIGHT.test(mark + word)) {
      parts.push({ text: gap, style: 'plain' })
    } else break
    end = index + gap.length
  }
  return [...parts, { text: name.slice(end), style: 'plain' as const }].filter(({ text }) => text !== '')
}
