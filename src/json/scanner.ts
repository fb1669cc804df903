import { StacklessError } from '../domain/errors.ts'

/** The reason of a refusal, and the offset of the byte at fault. */
export class JsonFault extends StacklessError {
  readonly kind: 'syntax' | 'depth'
  readonly at: number

  constructor(kind: JsonFault['kind'], at: number) {
    super(`${kind} at ${at}`)
    this.kind = kind
    this.at = at
  }
}

/**
 * Checks JSON (RFC 8259) byte by byte and builds no values. A mebibyte of any shape takes a few milliseconds, where
 * JSON.parse takes up to 60 ms for an object of 100,000 names. Bytes above 127 are never syntax, because UTF-8 encodes
 * all characters of JSON's syntax as single bytes below (RFC 3629 section 3).
 */
export class JsonScanner {
  readonly #bytes: Uint8Array
  readonly #end: number
  #at = 0
  #depth = 0
  /** Whether a member name, at any depth, has an escape. */
  hasEscapedName = false

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#end = bytes.length
  }

  /**
   * Scans the whole text.
   *
   * @returns four offsets for each member of the outermost object: start and end of its name, without quotes, and of
   *   its value; undefined when the text is no object
   * @throws JsonFault
   */
  members(): number[] | undefined {
    const isObject = this.#next() === OPEN_BRACE
    const members: number[] = []
    if (isObject) this.#object(members)
    else this.#value()
    if (this.#next() !== NOTHING) this.#fail()
    return isObject ? members : undefined
  }

  /** Skips white space. @returns the next byte, NOTHING at the end */
  #next(): number {
    while (this.#at < this.#end) {
      const c = this.#bytes[this.#at] as number
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return c
      this.#at++
    }
    return NOTHING
  }

  #value(): void {
    const c = this.#next()
    if (c === QUOTE) this.#string()
    else if (c === OPEN_BRACE) this.#object(undefined)
    else if (c === OPEN_BRACKET) this.#array()
    else if (c === MINUS || isDigit(c)) this.#number()
    else if (c === 0x74) this.#literal(TRUE)
    else if (c === 0x66) this.#literal(FALSE)
    else if (c === 0x6e) this.#literal(NULL)
    else this.#fail()
  }

  #object(members: number[] | undefined): void {
    this.#open()
    let c = this.#next()
    while (c !== CLOSE_BRACE) {
      if (this.#next() !== QUOTE) this.#fail()
      const name = this.#at + 1
      if (this.#string()) this.hasEscapedName = true
      const nameEnd = this.#at - 1
      if (this.#next() !== COLON) this.#fail()
      this.#at++
      this.#next()
      const start = this.#at
      this.#value()
      if (members !== undefined) members.push(name, nameEnd, start, this.#at)
      c = this.#next()
      if (c === COMMA) this.#at++
      else if (c !== CLOSE_BRACE) this.#fail()
    }
    this.#close()
  }

  #array(): void {
    this.#open()
    let c = this.#next()
    while (c !== CLOSE_BRACKET) {
      this.#value()
      c = this.#next()
      if (c === COMMA) this.#at++
      else if (c !== CLOSE_BRACKET) this.#fail()
    }
    this.#close()
  }

  #open(): void {
    if (++this.#depth > MAX_DEPTH) throw new JsonFault('depth', this.#at)
    this.#at++
  }

  #close(): void {
    this.#depth--
    this.#at++
  }

  #string(): boolean {
    const bytes = this.#bytes
    const end = this.#end
    let isEscaped = false
    for (let i = this.#at + 1; i < end; i++) {
      const c = bytes[i] as number
      if (c === QUOTE) {
        this.#at = i + 1
        return isEscaped
      }
      if (c < 0x20) this.#fail(i)
      if (c === BACKSLASH) {
        isEscaped = true
        i = this.#escape(i + 1)
      }
    }
    return this.#fail(end)
  }

  /** @param at the offset after the backslash. @returns the offset of the last byte of the escape */
  #escape(at: number): number {
    const c = at < this.#end ? (this.#bytes[at] as number) : NOTHING
    if (c !== 0x75) return ESCAPES.includes(c) ? at : this.#fail(at)
    for (let i = at + 1; i <= at + 4; i++) if (i >= this.#end || !isHexDigit(this.#bytes[i] as number)) this.#fail(i)
    return at + 4
  }

  #number(): void {
    if (this.#bytes[this.#at] === MINUS) this.#at++
    if (this.#bytes[this.#at] === ZERO) this.#at++
    else this.#digits()
    if (this.#at < this.#end && this.#bytes[this.#at] === DOT) {
      this.#at++
      this.#digits()
    }
    const c = this.#at < this.#end ? (this.#bytes[this.#at] as number) : NOTHING
    if ((c | 0x20) !== 0x65) return
    this.#at++
    const sign = this.#bytes[this.#at]
    if (sign === MINUS || sign === PLUS) this.#at++
    this.#digits()
  }

  #digits(): void {
    const start = this.#at
    while (this.#at < this.#end && isDigit(this.#bytes[this.#at] as number)) this.#at++
    if (this.#at === start) this.#fail()
  }

  #literal(literal: Uint8Array): void {
    for (const c of literal) {
      if (this.#bytes[this.#at] !== c) this.#fail()
      this.#at++
    }
  }

  #fail(at = this.#at): never {
    throw new JsonFault('syntax', at)
  }
}

/**
 * The most levels of arrays and objects. A plant has one; the rest lets a client send members that the service ignores.
 */
export const MAX_DEPTH = 32

const NOTHING = -1
const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')
/** The characters that may follow a backslash, besides `u`. */
const ESCAPES: readonly number[] = [...Buffer.from('"\\/bfnrt')]

const isDigit = (c: number): boolean => c >= 0x30 && c <= 0x39
const isHexDigit = (c: number): boolean => isDigit(c) || ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x66)
