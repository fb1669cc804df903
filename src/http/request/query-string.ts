/**
 * The parameters of a query string, each with its texts in order. Reads the encoding of HTML forms, in which `+` is a
 * space (https://url.spec.whatwg.org/#urlencoded-parsing), but does not repair invalid encoding.
 *
 * @returns undefined where the query is not valid percent-encoded UTF-8
 */
export function readQueryString(query: string): Map<string, string[]> | undefined {
  const texts = new Map<string, string[]>()
  try {
    for (const pair of query.split('&')) {
      if (pair === '') continue
      const equals = pair.indexOf('=')
      const name = decode(equals === -1 ? pair : pair.slice(0, equals))
      const text = equals === -1 ? '' : decode(pair.slice(equals + 1))
      const present = texts.get(name)
      if (present === undefined) texts.set(name, [text])
      else present.push(text)
    }
  } catch {
    return undefined
  }
  return texts
}

const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))

/** Writes a query string that readQueryString reads as these parameters. */
export function writeQueryString(parameters: readonly (readonly [name: string, text: string])[]): string {
  return parameters.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
}
