/** Encodings by the labels of TextDecoder, in the order in which the page shows them. */
export const ENCODINGS = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1252',
  'macintosh',
  'windows-1250',
  'windows-1251',
  'windows-1253',
  'windows-1254',
  'shift_jis',
  'gb18030',
  'euc-kr',
] as const

export type Encoding = (typeof ENCODINGS)[number]

interface Candidate {
  readonly encoding: Encoding
  /** The letters beyond ASCII that its languages write. */
  readonly letters: RegExp
  /** Whether its words have letters of ASCII as well. Words of other scripts have none. */
  readonly isLatin: boolean
}

const WESTERN = /[äöüÄÖÜßéèêëÉÈÊàâáãåæÀÁÂÅÆçÇîïíìÎÍôóòõøÔÓÒØœŒùûúÙÚñÑ]/u
const CENTRAL = /[ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČĎÉĚÍŇŘŠŤÚŮÝŽäöüÄÖÜßőűŐŰăâîşţĂÂÎŞŢđĐľĽĺŕôëç]/u
const TURKISH = /[çğıöşüâîûÇĞİÖŞÜÂÎÛ]/u
const CYRILLIC = /[а-яёіїєґўА-ЯЁІЇЄҐЎ]/u
const GREEK = /[α-ωάέήίόύώϊϋΑ-ΩΆΈΉΊΌΎΏ]/u
/** Not the narrow syllables, which are single bytes from A1 to DF. */
const JAPANESE = /[\u3041-\u30ff\p{Script=Han}]/u
const CHINESE = /\p{Script=Han}/u
const KOREAN = /\p{Script=Hangul}/u

/** Where texts read equally well, the first one counts. */
const CANDIDATES: readonly Candidate[] = [
  { encoding: 'windows-1252', letters: WESTERN, isLatin: true },
  { encoding: 'macintosh', letters: WESTERN, isLatin: true },
  { encoding: 'windows-1254', letters: TURKISH, isLatin: true },
  { encoding: 'windows-1250', letters: CENTRAL, isLatin: true },
  { encoding: 'windows-1251', letters: CYRILLIC, isLatin: false },
  { encoding: 'windows-1253', letters: GREEK, isLatin: false },
  { encoding: 'shift_jis', letters: JAPANESE, isLatin: false },
  { encoding: 'euc-kr', letters: KOREAN, isLatin: false },
  { encoding: 'gb18030', letters: CHINESE, isLatin: false },
]

/**
 * Returns the encoding in which most characters of a text that is not UTF-8 are what people write: UTF-8 all the same
 * for a few bytes among many characters of it. Lines that end with CR alone are those of old Macintoshes.
 *
 * @param sample lines with bytes beyond ASCII
 */
export function guessEncoding(sample: Uint8Array): Encoding {
  if (sample.includes(CR) && !sample.includes(LF)) return 'macintosh'
  const foreign = new TextDecoder().decode(sample).match(FOREIGN) ?? []
  if (FOR_A_FAULT * foreign.filter((letter) => letter === '\ufffd').length <= foreign.length) return 'utf-8'
  const shares = CANDIDATES.map((candidate) => shareOf(candidate, sample))
  return CANDIDATES[shares.indexOf(Math.max(...shares))]?.encoding ?? 'windows-1252'
}

/** Characters in UTF-8 for each byte that is not: texts in other encodings have a tenth of them by accident. */
const FOR_A_FAULT = 5
const CR = 0x0d
const LF = 0x0a

/** The share of the characters beyond ASCII that a text in an encoding probably has. */
function shareOf(candidate: Candidate, sample: Uint8Array): number {
  let all = 0
  let probable = 0
  const text = new TextDecoder(candidate.encoding).decode(sample)
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const foreign = word.match(FOREIGN) ?? []
    all += foreign.length
    if (foreign.length === 0) continue
    if (!LETTER.test(word)) probable += SYMBOL.test(word) && !(candidate.isLatin && isWithinWord(text, index)) ? 1 : 0
    else if (isProbable(word, foreign.length, candidate)) {
      probable += foreign.filter((letter) => candidate.letters.test(letter)).length
    }
  }
  return all === 0 ? 0 : probable / all
}

/** Whether a symbol other than an apostrophe is between two letters. */
const isWithinWord = (text: string, at: number): boolean =>
  text[at] !== '’' && [at - 1, at + 1].every((beside) => LETTER.test(text[beside] ?? ''))

/** A word, or a symbol beyond ASCII. */
const WORD = /[\p{L}\p{M}]+|[^\0-\x7f]/gu
const FOREIGN = /[^\0-\x7f]/gu
const LETTER = /\p{L}/u
const SYMBOL = /[×°’‘“”„‚–—…«»€£½¼¾²³µ©®™§·¿¡ªº\u00a0、。・「」（）：，]/u

function isProbable(word: string, foreign: number, { isLatin }: Candidate): boolean {
  if (/\p{Ll}\p{Lu}/u.test(word)) return false
  return isLatin ? word.length < 3 || 3 * foreign <= 2 * word.length : !/[a-z]/i.test(word)
}
