import { WorkbookError } from './zip.ts'

/** What a document has, in its order. Names have no prefix. */
export type XmlEvent =
  | { readonly kind: 'open'; readonly name: string; readonly attributes: string }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string }

/** UTF-16 units of a tag, a comment or CDATA. Each further piece of the document reads an unfinished one again. */
const MOST_TOKEN = 2 ** 17

const TOKEN = new RegExp(
  [
    /<\/(?:[\w.-]+:)?([\w.-]+)\s*>/,
    /<(?:[\w.-]+:)?([\w.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/,
    /<!\[CDATA\[(.*?)\]\]>/,
    /<!--.*?-->/,
    /<\?.*?\?>/,
    /([^<]+)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'suy',
)

/**
 * Yields the events of an XML document in pieces, one list for each piece. It reads what programs write in workbooks: no
 * document type, so no entities but the predefined ones.
 *
 * @throws WorkbookError for what is no such XML
 */
export async function* eventsIn(pieces: AsyncIterable<string>): AsyncGenerator<readonly XmlEvent[], void> {
  let rest = ''
  for await (const piece of pieces) {
    const text = (rest + piece).replace(/^\ufeff/, '')
    const events: XmlEvent[] = []
    rest = text.slice(take(text, events))
    if (rest.length > MOST_TOKEN) throw new WorkbookError('unreadable')
    if (events.length > 0) yield events
  }
  if (rest.trim() !== '') throw new WorkbookError('unreadable')
}

/** Takes the tokens of a text. @returns where the first unfinished one begins */
function take(text: string, events: XmlEvent[]): number {
  const entity = text.lastIndexOf('&')
  const isCut = entity > text.length - MOST_ENTITY && !text.includes(';', entity)
  let at = 0
  while (at < text.length) {
    TOKEN.lastIndex = at
    const found = TOKEN.exec(text)
    if (found === null) return at
    const [token, closed, opened, attributes = '', slash, data, plain] = found
    if (opened !== undefined) events.push({ kind: 'open', name: opened, attributes })
    if (closed !== undefined || slash === '/') events.push({ kind: 'close', name: closed ?? opened ?? '' })
    if (data !== undefined) events.push({ kind: 'text', text: data })
    if (plain !== undefined) {
      const end = isCut && at + token.length === text.length ? entity : at + token.length
      if (end > at) events.push({ kind: 'text', text: decoded(text.slice(at, end)) })
      if (end < at + token.length) return end
    }
    at += token.length
  }
  return at
}

const ATTRIBUTE = /(?<![\w.-])([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/gu

/** Attributes by their names without a prefix. */
export function attributesOf(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  ATTRIBUTE.lastIndex = 0
  for (let match = ATTRIBUTE.exec(text); match !== null; match = ATTRIBUTE.exec(text)) {
    found.set(match[1] ?? '', decoded(match[2] ?? match[3] ?? ''))
  }
  return found
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }
/** Characters of a reference such as `&#x10ffff;`. */
const MOST_ENTITY = 12

const decoded = (text: string): string =>
  text.includes('&')
    ? text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]+));/gi, (reference, hex, decimal, name) => {
        const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
        if (name !== undefined) return ENTITIES[name] ?? reference
        return code > 0x10ffff ? reference : String.fromCodePoint(code)
      })
    : text
