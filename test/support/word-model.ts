import type { Plant } from '../../src/domain/plant.ts'

/** Invisible characters (Default_Ignorable_Code_Point in DerivedCoreProperties.txt). */
const INVISIBLE: readonly (readonly [from: number, to: number])[] = [
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfff8],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
]
const isIn = (character: string, from: number, to: number): boolean => {
  const code = character.codePointAt(0) ?? 0
  return from <= code && code <= to
}
const isHidden = (character: string): boolean =>
  /^\p{M}$/u.test(character) || INVISIBLE.some(([from, to]) => isIn(character, from, to))
const isFlagHalf = (character: string): boolean => isIn(character, 0x1f1e6, 0x1f1ff)
const isPictograph = (character: string): boolean =>
  /^[\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u.test(character) ||
  (/^\p{So}$/u.test(character) && (isIn(character, 0x2600, 0x27bf) || isIn(character, 0x1f000, 0x1faff)))

/** The words of a text by the rule of docs/reference/api.md, character by character. Shares nothing with src/domain/plant-query.ts. */
export function modelWords(text: string): string[] {
  const found: string[] = []
  let word = ''
  let flag = ''
  const end = (): void => {
    found.push(...[word, flag].filter((each) => each !== ''))
    word = ''
    flag = ''
  }
  for (const character of shown(text)) {
    if (/^[\p{L}\p{N}]$/u.test(character)) {
      if (flag !== '') end()
      word += character
    } else if (isFlagHalf(character)) {
      if (word !== '') end()
      flag += character
      if (flag.length === 4) end()
    } else {
      end()
      if (character === '×') found.push('x')
      if (isPictograph(character)) found.push(character)
    }
  }
  end()
  return found
}

/** The characters of a text without case and hidden characters. */
function shown(text: string): string[] {
  const lower = Array.from(text.normalize('NFKD')).flatMap((character) =>
    isHidden(character) ? [] : Array.from(character.toLowerCase().toUpperCase().toLowerCase().normalize('NFKD')),
  )
  return lower.filter((character) => !isHidden(character))
}

/** Whether a plant matches a `q`. */
export function modelMatches(q: string, { name, tag = '' }: Plant): boolean {
  const isBlank = Array.from(q).every((character) => /^\s$/u.test(character) || isInvisible(character))
  if (isBlank) return true
  const asked = modelWords(q.replaceAll('×', ' '))
  const own = [name, tag].flatMap((text) => [...modelWords(text), ...modelJoined(text)])
  return asked.length > 0 && asked.every((word) => own.some((each) => each.startsWith(word)))
}

/** The runs of letters, digits and hyphens that have a hyphen, without it. */
function modelJoined(text: string): string[] {
  const kept = shown(text).map((each) =>
    /^[-\u2010\u2011]$/.test(each) ? '-' : /^[\p{L}\p{N}]$/u.test(each) ? each : ' ',
  )
  const runs = kept.join('').split(' ')
  return runs.filter((run) => run.includes('-') && !/^-+$/.test(run)).map((run) => run.split('-').join(''))
}

const isInvisible = (character: string): boolean => INVISIBLE.some(([from, to]) => isIn(character, from, to))

/** Characters that the rule treats each in its own way. */
export const TRICKY = [
  ...['a', 'B', 'é', 'e\u0301', 'ß', 'ẞ', 'ς', 'Σ', '7', '٣', '한', '銀', 'ﬁ', '\ufdfa', '㌀', '𝒜', 'İ', 'ı', 'ŉ'],
  ...['\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u061c', '\u180e', '\u3164', '\u{e0067}', '\ufe0f'],
  ...['🇩', '🇪', '🇩🇪', '🌵', '👨\u200d🌾', '👍🏽', '🏽', '✿', '★', '♀', '❤️\u200d🔥', '🏴\u{e0067}\u{e007f}', '1️⃣', '©'],
  ...[' ', ' ', '-', '\u2010', '×', 'x', "'", '_'],
  ...['€', '!', '°', '→', '\u0301', '\u0345', '\u034f', '\u00a0', '\u3000'],
]
