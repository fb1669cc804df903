/** Left-to-right isolate, first strong isolate and pop directional isolate (Unicode UAX #9). */
const [BEGIN_ENGLISH, BEGIN_NAME, END] = ['\u2066', '\u2068', '\u2069']

/** Marks a name in a sentence. Without the marks, a name from right to left mixes with the words around it. */
export const named = (name: string): string => `${BEGIN_NAME}${name}${END}`

/** Marks a sentence of the service, which speaks English only. */
export const inEnglish = (sentence: string): string => `${BEGIN_ENGLISH}${sentence}${END}`

/** Removes the marks. */
export const plain = (sentence: string): string => sentence.replaceAll(/[\u2066\u2068\u2069]/g, '')

/** Divides a sentence into texts without marks, and names and English texts without theirs. */
export function dividedByMarks(sentence: string): readonly { readonly text: string; readonly kind: PartKind }[] {
  return sentence.split(/(\u2066[^\u2069]*\u2069|\u2068[^\u2069]*\u2069)/).map((part, i) => {
    if (i % 2 === 0) return { text: part, kind: 'own' }
    return { text: part.slice(1, -1), kind: part.startsWith(BEGIN_NAME) ? 'name' : 'english' }
  })
}

type PartKind = 'own' | 'name' | 'english'
