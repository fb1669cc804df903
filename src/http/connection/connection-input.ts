import type { Socket } from 'node:net'
import { PartedInput } from './parted-input.ts'
import type { ReadTurns } from './read-turns.ts'

/** Milliseconds between reads of a connection whose requests wait: see `readLater`. */
const READ_PAUSE = 100

/** The connection to which an input belongs. */
export interface InputOwner {
  /** Whether the parser may get bytes: no request waits, and the body under way, if any, has room. */
  readonly mayParse: boolean
  /** Whether the rest of a body has not arrived. */
  readonly isReceiving: boolean
  /** Bytes of memory of waiting requests, parsed or not. */
  readonly queuedBytes: number
  /** Counts bytes that begin to wait for the parser; below 0 when they leave. */
  account(bytes: number): void
}

/** Decides when the service reads the socket of one connection, and whether Node.js parses the bytes in small parts. */
export class ConnectionInput {
  readonly #socket: Socket
  readonly #turns: ReadTurns
  readonly #owner: InputOwner
  #parts: PartedInput | undefined
  #isParted = false
  #isPaused = false
  #isDropping = false
  #readPause: NodeJS.Timeout | undefined

  constructor(socket: Socket, turns: ReadTurns, owner: InputOwner) {
    this.#socket = socket
    this.#turns = turns
    this.#owner = owner
    // Node.js resumes a socket after each whole request.
    socket.on('resume', () => this.#resumed())
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }

  /** Whether the service has read a byte of the connection. */
  get wasRead(): boolean {
    return this.#socket.bytesRead > 0
  }

  /** Whether Node.js now parses the bytes in small parts. */
  get isParted(): boolean {
    return this.#parts !== undefined
  }

  /** Whether bytes wait for Node's parser. */
  get hasUnparsed(): boolean {
    return this.#parts?.isEmpty === false
  }

  /** Whether the client pipelines requests, or sends a large body. */
  get isHeavy(): boolean {
    return this.#owner.queuedBytes > 0 || (this.isParted && this.#owner.isReceiving)
  }

  /** Stops reading until `read`. A parted input still gets the chunk that Node.js has already read. */
  pause(): void {
    this.#isPaused = true
    this.#stopReading()
  }

  read(): void {
    const wasPaused = this.#isPaused
    this.#isPaused = false
    if (this.#parts !== undefined) this.#parts.read()
    else if (wasPaused) this.#socket.resume()
  }

  /** Makes Node.js parse the bytes in small parts, from the next resume of the socket on. */
  part(): void {
    this.#isParted = true
  }

  /** Makes Node.js parse the bytes in small parts from now on. */
  partNow(): void {
    this.#isParted = true
    this.#socket.pause()
    this.#socket.resume()
  }

  /** Asks for a turn to read. */
  askToRead(): void {
    clearTimeout(this.#readPause)
    this.#readPause = undefined
    this.#turns.ask(this)
  }

  /** Asks for a turn after READ_PAUSE. While requests wait, only a read shows that the client has left. */
  readLater(): void {
    this.#readPause ??= setTimeout(() => {
      this.part()
      this.askToRead()
    }, READ_PAUSE).unref()
  }

  /** Drops the bytes that wait for the parser. */
  dropUnparsed(): void {
    this.#parts?.drop()
  }

  /** Drops the bytes that wait for the parser, and all further ones. To parse them would cost more. */
  dropAll(): void {
    this.#isParted = true
    this.#isDropping = true
    this.#socket.pause()
    this.dropUnparsed()
  }

  /** Call it when the socket has closed. */
  close(): void {
    clearTimeout(this.#readPause)
    this.#turns.forget(this)
  }

  /** Creates the PartedInput while Node.js reads: one that is created earlier gets no bytes. */
  #resumed(): void {
    if (this.#isPaused) this.#stopReading()
    if (this.#isPaused || !this.#isParted) return
    this.#parts?.resumed()
    this.#parts ??= PartedInput.of(this.#socket, {
      mayParse: () => this.#owner.mayParse,
      account: (bytes) => this.#account(bytes),
      wait: () => this.readLater(),
    })
    if (this.#isDropping) this.dropUnparsed()
  }

  #account(bytes: number): void {
    if (bytes > 0) this.#turns.countInput(bytes)
    this.#owner.account(bytes)
  }

  #stopReading(): void {
    this.#socket.pause()
    // After a pause and a resume within one tick, Node.js reads a paused socket, on which `pause` does nothing.
    this.#socket.emit('pause')
  }
}
