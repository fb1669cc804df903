/** A media type with its parameters: type and names in lower case, values without their quotes. */
export interface MediaType {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const QUOTED = '"(?:[\\t !#-[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"'
const TYPE = new RegExp(`[ \\t]*(${TOKEN}/${TOKEN})[ \\t]*(?=[;,]|$)`, 'y')
const PARAMETER = new RegExp(`;[ \\t]*(?:(${TOKEN})=(${TOKEN}|${QUOTED}))?[ \\t]*(?=[;,]|$)`, 'y')

/**
 * Reads a Content-Type (RFC 9110 section 8.3.1).
 *
 * @returns undefined where it is malformed or gives a parameter twice
 */
export function readMediaType(text: string): MediaType | undefined {
  const list = readMediaTypes(text)
  return list?.length === 1 ? list[0] : undefined
}

/**
 * Reads a list of media types, as in Accept (RFC 9110 section 12.5.1). Skips empty elements.
 *
 * @returns undefined where it is malformed, or gives a parameter of one type twice
 */
export function readMediaTypes(text: string): MediaType[] | undefined {
  const list: MediaType[] = []
  for (let at = 0; at < text.length; ) {
    if (/[ \t,]/.test(text.charAt(at))) {
      at++
      continue
    }
    const found = readOne(text, at)
    if (found === undefined) return undefined
    list.push(found.mediaType)
    at = found.end
  }
  return list
}

function readOne(text: string, start: number): { mediaType: MediaType; end: number } | undefined {
  TYPE.lastIndex = start
  const type = TYPE.exec(text)?.[1]
  if (type === undefined) return undefined
  const parameters = new Map<string, string>()
  let end = TYPE.lastIndex
  while (text.charAt(end) === ';') {
    PARAMETER.lastIndex = end
    const found = PARAMETER.exec(text)
    if (found === null) return undefined
    end = PARAMETER.lastIndex
    const [, name, value = ''] = found
    if (name === undefined) continue
    if (parameters.has(name.toLowerCase())) return undefined
    parameters.set(name.toLowerCase(), unquoted(value))
  }
  return { mediaType: { type: type.toLowerCase(), parameters }, end }
}

const unquoted = (value: string): string =>
  value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value
