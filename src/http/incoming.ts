import { IncomingMessage } from 'node:http'

type Sink = (body: Buffer | undefined) => void

/**
 * A request that hands over its body whole. Where the body is asked for before any of it has arrived, which is nearly
 * always, the parser's chunks go straight to the asker instead of through the stream's queue and events; that is worth
 * 4% of a create's throughput (docs/decisions/0006-hot-path.md). In all other ways it is Node's own request.
 */
export class Incoming extends IncomingMessage {
  /** Called when the body is asked for, and so never where the head alone is refused. */
  onWanted: (() => void) | undefined
  /** Its body is read in pieces, so it has no time limit as a whole: body-pieces.ts looks after its progress. */
  isStreamed = false
  #sink: Sink | undefined
  #body: Buffer | undefined
  /** What came behind the first chunk, which is most often all there is. */
  #more: Buffer[] | undefined
  #length = 0
  #limit = 0
  #started = false

  /**
   * @param limit bytes
   * @param sink called once: with the body, or as soon as it is longer than the limit with undefined. Never called when
   *   the client goes away first
   */
  readWhole(limit: number, sink: Sink): void {
    this.onWanted?.()
    this.#limit = limit
    this.#sink = sink
    if (!this.#started) return
    this.on('data', (chunk: Buffer) => this.#take(chunk))
    this.on('end', () => this.#finish())
  }

  /** Node's parser calls this with each chunk of the body, and with null at its end. */
  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (this.#sink === undefined || this.#started) {
      this.#started = true
      return super.push(chunk, encoding)
    }
    if (chunk !== null) {
      this.#take(chunk)
      return true
    }
    this.#finish()
    return super.push(null)
  }

  #take(chunk: Buffer): void {
    this.#length += chunk.length
    if (this.#sink === undefined) return
    if (this.#length > this.#limit) this.#finish()
    else if (this.#body === undefined) this.#body = chunk
    else if (this.#more === undefined) this.#more = [chunk]
    else this.#more.push(chunk)
  }

  #finish(): void {
    const sink = this.#sink
    if (sink === undefined) return
    const whole = this.#more === undefined ? this.#body : Buffer.concat([this.#body as Buffer, ...this.#more])
    this.#sink = undefined
    this.#body = undefined
    this.#more = undefined
    sink(this.#length > this.#limit ? undefined : (whole ?? EMPTY))
  }
}

const EMPTY = Buffer.alloc(0)
