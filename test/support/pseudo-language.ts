import type { Route } from 'playwright-core'
import de from '../../web/src/language/de.ts'
import { en, type Text } from '../../web/src/language/en.ts'
import es from '../../web/src/language/es.ts'
import fr from '../../web/src/language/fr.ts'
import nl from '../../web/src/language/nl.ts'

export const CATALOGS: Readonly<Record<string, Readonly<Record<string, Text>>>> = { en, de, fr, es, nl }

export const formsOf = (text: Text | undefined): readonly string[] =>
  text === undefined ? [] : typeof text === 'string' ? [text] : [text.one, text.other]

/** Letters of the pseudo-language, as wide as those of English. */
const LETTERS: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from(
    'aábḃcçdďeéfḟgğhĥiíjĵkķlļmṁnñoópṗqʠrřsštţuúvṽwŵxẋyýzžAÁBḂCÇDĎEÉFḞGĞHĤIÍJĴKĶLĻMṀNÑOÓPṖQɊRŘSŠTŢUÚVṼWŴXẊYÝZŽ'.matchAll(
      /(.)(.)/g,
    ),
  ).map(([, from = '', to = '']) => [from, to]),
)

const strange = (word: string): string => Array.from(word, (letter) => LETTERS[letter] ?? letter).join('')

/** A word, half as long again. */
const half = (word: string): string => strange(word + word.toLowerCase().slice(0, Math.ceil(word.length / 2)))

/** The parts of a text that no line breaks. A value counts as what its name has. */
export const wordsOf = (text: string): readonly string[] => text.split(/[\s-]+/)
export const longest = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length))

/**
 * The texts of the pseudo-language: strange to a search for English letters, each word half as long again, and each text
 * and its longest word at least as long as in any language of the page.
 */
export const PSEUDO: Readonly<Record<string, Text>> = Object.fromEntries(
  Object.entries(en).map(([key, text]: [string, Text]) => {
    const all = Object.values(CATALOGS).flatMap((texts) => formsOf(texts[key]))
    const stretched = (form: string) => stretchedTo(form, longest(all.flatMap(wordsOf)), longest(all))
    return [
      key,
      typeof text === 'string' ? stretched(text) : { one: stretched(text.one), other: stretched(text.other) },
    ]
  }),
)

/** Stretches a text, then its longest word, then the text by further words. */
function stretchedTo(text: string, word: number, whole: number): string {
  const stretched = text
    .split(/(\{\w+\})/)
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll(/\p{L}+/gu, half)))
    .join('')
  const words = wordsOf(stretched).filter((each) => !/[{}]/.test(each))
  const last = words.toSorted((a, b) => a.length - b.length).at(-1) ?? ''
  const end = stretched.indexOf(last) + last.search(/[^\p{L}]*$/u)
  const letters = 'é'.repeat(Math.max(0, word - last.length))
  const longer = stretched.slice(0, end) + letters + stretched.slice(end)
  return longer + ' ḃḃḃḃḃ'.repeat(whole).slice(0, Math.max(0, whole - longer.length))
}

/** Gives the page the pseudo-language in the place of German. */
export async function speakPseudo(route: Route): Promise<void> {
  await route.fulfill({ contentType: 'text/javascript', body: `export default ${JSON.stringify(PSEUDO)}` })
}
