import type { Socket } from 'node:net'

/** Bytes of the first part of a request: at most 56 of the smallest requests, which take 0.3 ms. */
const FIRST_PART = 1024

const HEAD_END = Buffer.from('\r\n\r\n')

/** The callbacks of an input to its connection. */
export interface InputOptions {
  /** Whether the parser may get bytes: no request waits, and the body under way, if any, has room. */
  readonly mayParse: () => boolean
  /** Called with the number of bytes that begin to wait for the parser, and with minus the number that leaves. */
  readonly account: (bytes: number) => void
  /** Called when bytes wait that the parser may not have yet. The connection calls `read` later. */
  readonly wait: () => void
}

/**
 * Gives the bytes of one connection to Node's parser in small parts.
 *
 * By default Node.js parses a chunk of 64 KiB at once: up to 3,600 requests, 4 MB and 20 ms. Once a socket has a
 * listener for `data`, Node.js gives chunks to the listeners instead. One of them is its own and calls the parser. This
 * class replaces that listener, and calls it with parts. It costs a request some microseconds, so a connection gets it
 * only in a flood. Create it while the socket reads.
 */
export class PartedInput {
  readonly #socket: Socket
  readonly #options: InputOptions
  readonly #parse: (part: Buffer) => void
  /** Chunks that wait for the parser. The first one lacks its parsed bytes. */
  #chunks: Buffer[] = []
  #partSize = FIRST_PART
  #wantsChunk = true
  #isDropping = false

  /** @returns undefined where the socket has no listener for `data`, or more than that of Node.js */
  static of(socket: Socket, options: InputOptions): PartedInput | undefined {
    const [parse, ...others] = socket.listeners('data')
    return parse === undefined || others.length > 0
      ? undefined
      : new PartedInput(socket, options, parse as (part: Buffer) => void)
  }

  private constructor(socket: Socket, options: InputOptions, parse: (part: Buffer) => void) {
    this.#socket = socket
    this.#options = options
    this.#parse = parse
    socket.off('data', parse)
    socket.on('data', (chunk: Buffer) => this.#add(chunk))
    socket.on('drain', () => this.parse())
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  /** Parses waiting bytes as far as it may, or reads one more chunk, which shows whether the client is still there. */
  read(): void {
    if (this.#chunks.length > 0 && this.#mayParse()) {
      this.parse()
    } else {
      this.#wantsChunk = true
      this.#socket.resume()
      // The client may have sent its last byte, so no later event would parse the waiting ones.
      if (this.#chunks.length > 0) this.#options.wait()
    }
  }

  /** Call it when the socket resumes, in most cases because Node.js wants more of a body. */
  resumed(): void {
    if (this.#chunks.length === 0) return
    if (!this.#wantsChunk || this.#mayParse()) this.parse()
  }

  /** Gives the parser parts for as long as it may have them. */
  parse(): void {
    this.#wantsChunk = false
    while (this.#chunks.length > 0 && this.#mayParse()) this.#parseNext()
    if (this.#chunks.length > 0) {
      this.#socket.pause()
      this.#options.wait()
    } else if (this.#mayParse()) {
      this.#socket.resume()
    }
  }

  /** Drops the waiting bytes, and all further ones. */
  drop(): void {
    this.#isDropping = true
    const chunks = this.#chunks
    this.#chunks = []
    for (const { length } of chunks) this.#options.account(-length)
  }

  /** Ends the connection where Node's listener throws, because its state forbids a call. Otherwise the process ends. */
  #parseNext(): void {
    try {
      this.#parse(this.#nextPart())
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_INTERNAL_ASSERTION')) throw error
      this.drop()
      this.#socket.destroy()
    }
  }

  /**
   * Node's listener must not be called while an answer waits for the client. A socket that is ending does not show
   * that, so its bytes are not parsed either.
   */
  #mayParse(): boolean {
    return !this.#isDropping && this.#socket.writable && !this.#socket.writableNeedDrain && this.#options.mayParse()
  }

  #add(chunk: Buffer): void {
    if (this.#isDropping) return
    this.#chunks.push(chunk)
    this.#options.account(chunk.length)
    this.parse()
  }

  /** Takes bytes up to the end of a head if possible, because a deadline runs once the parser has a part of a head. */
  #nextPart(): Buffer {
    const [chunk = HEAD_END] = this.#chunks
    let part = chunk.subarray(0, this.#partSize)
    const headEnd = part.lastIndexOf(HEAD_END)
    if (headEnd >= 0) part = part.subarray(0, headEnd + HEAD_END.length)
    // Parts of a large body grow, so that it costs no more than without parts.
    this.#partSize = headEnd >= 0 ? FIRST_PART : 2 * this.#partSize
    if (part.length < chunk.length) this.#chunks[0] = chunk.subarray(part.length)
    else this.#chunks.shift()
    this.#options.account(-part.length)
    return part
  }
}
