import { WorkbookError } from './zip.ts'

/** What a document has, in its order. Names have a prefix where the name of the first element has another one. */
export type XmlEvent =
  | { readonly kind: 'open'; readonly name: string; readonly attributes: string }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string }

/** UTF-16 units of a tag, a comment or CDATA. Each further piece of the document reads an unfinished one again. */
const MOST_TOKEN = 2 ** 17

const TOKEN = new RegExp(
  [
    /<\/([\w.:-]+)\s*>/,
    /<([\w.:-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/,
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
 * document type, so no entities but the predefined ones, and one prefix for each namespace.
 *
 * @throws WorkbookError for what is no such XML
 */
export async function* eventsIn(pieces: AsyncIterable<string>): AsyncGenerator<readonly XmlEvent[], void> {
  let rest = ''
  let depth = 0
  const names = new Names()
  for await (const piece of pieces) {
    const text = (rest + piece).replace(/^\ufeff/, '')
    const events: XmlEvent[] = []
    rest = text.slice(take(text, events, names))
    if (rest.length > MOST_TOKEN) throw new WorkbookError('unreadable')
    for (const { kind } of events) depth += kind === 'open' ? 1 : kind === 'close' ? -1 : 0
    if (events.length > 0) yield events
  }
  // A program that was stopped while it wrote leaves a document without its last rows.
  if (rest.trim() !== '' || depth !== 0) throw new WorkbookError('unreadable')
}

/** Tells the elements of the document's own namespace from those of others, such as the `workbookPr` of Excel 2013. */
class Names {
  #prefix: string | undefined

  of(name: string): string {
    if (name === '') return name
    this.#prefix ??= name.slice(0, name.indexOf(':') + 1)
    return name.startsWith(this.#prefix) ? name.slice(this.#prefix.length) : name
  }
}

/** Takes the tokens of a text. @returns where the first unfinished one begins */
function take(text: string, events: XmlEvent[], names: Names): number {
  const entity = text.lastIndexOf('&')
  const isCut = entity > text.length - MOST_ENTITY && !text.includes(';', entity)
  let at = 0
  while (at < text.length) {
    TOKEN.lastIndex = at
    const found = TOKEN.exec(text)
    if (found === null) return at
    const [token, closed, opened, attributes = '', slash, data, plain] = found
    const name = names.of(closed ?? opened ?? '')
    if (opened !== undefined) events.push({ kind: 'open', name, attributes })
    if (closed !== undefined || slash === '/') events.push({ kind: 'close', name })
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
