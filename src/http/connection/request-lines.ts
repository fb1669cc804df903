import type { Socket } from 'node:net'
import type { ParserError } from './connection-errors.ts'

/** Milliseconds that the rest of a request line may take. */
const LINE_TIMEOUT = 1000

/** The most characters of a request line. */
const MAX_LINE = 8192

/** The characters of a token, such as a method (RFC 9110 section 5.6.2). */
const TOKEN = "[\\w!#$%&'*+.^`|~-]"

/** Matches a request line (RFC 9112 section 3), and BEGINNING any beginning of one. */
const LINE = new RegExp(`^${TOKEN}+ [!-~]+ HTTP/1\\.[01]\\r\\n`)
const BEGINNING = new RegExp(`^${TOKEN}+(?: (?:[!-~]+(?: ${optionally('HTTP/1.')}(?:[01]\\r?)?)?)?)?$`)

/**
 * Tells request lines with an unknown method from bytes that are not HTTP. The parser stops at the first character that
 * fits no known method, so the rest of the line may come later. It reports the same fault for each further packet.
 */
export class RequestLines {
  readonly #begun = new WeakMap<Socket, string>()

  /**
   * Takes a packet at which the parser has stopped because of a method.
   *
   * @param decide called, perhaps later, with whether the packets are a request line
   */
  take(socket: Socket, { rawPacket, bytesParsed = 0 }: ParserError, decide: (isLine: boolean) => void): void {
    const begun = this.#begun.get(socket)
    const packet = rawPacket?.toString('latin1', 0, MAX_LINE + bytesParsed) ?? ''
    const text = begun === undefined ? packet.slice(startOf(packet, bytesParsed)) : begun + packet
    if (!BEGINNING.test(text) || text.length > MAX_LINE) {
      decide(LINE.test(text))
      return
    }
    this.#begun.set(socket, text)
    if (begun === undefined) setTimeout(() => decide(false), LINE_TIMEOUT).unref()
  }
}

/** The offset of the method at which the parser has stopped. */
const startOf = (packet: string, stop: number): number =>
  new RegExp(`${TOKEN}*$`).exec(packet.slice(0, stop))?.index ?? stop

/** An expression that matches every beginning of a text, also the empty one. */
function optionally(text: string): string {
  return [...text].reduceRight((rest, character) => `(?:${character.replace('.', '\\.')}${rest})?`, '')
}
