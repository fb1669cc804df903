import { closeSync, constants, fstatSync, openSync, write } from 'node:fs'
import { isatty } from 'node:tty'
import type { LogLines } from '../http/metrics/service-metrics.ts'

/** Bytes of lines that are written at once, and of a buffer, which has room for some lines more. */
const BATCH = 2 ** 16
const BUFFER = BATCH + 2 ** 13
/** Milliseconds until the retry of a write to a slow reader, and of a write that failed, such as on a full disk. */
const SLOW_RETRY = 50
const FAULT_RETRY = 1000

/** Takes bytes, such as an open file. No write blocks, because Node.js waits for its threads when the process ends. */
export interface Target {
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void
  close(): void
}

export interface LineOptions {
  /** Bytes of lines that may wait. The writer drops and counts further lines. */
  readonly maxWaiting: number
  /** Milliseconds for which lines wait for others, because each write costs a system call. */
  readonly gatherTime: number
  /** Turns a line of JSON into the text to write. Both end in a line feed. */
  readonly format: (line: string) => string
  /** The message of the line that counts dropped lines. */
  readonly dropped: string
  /** Called once when a write fails, and once when a later write succeeds. */
  readonly onFault?: (error: NodeJS.ErrnoException) => void
  readonly onMended?: () => void
}

/**
 * Writes lines to a file or a stream, and never waits for the disk or a reader. While a write fails, it retries it, and
 * keeps further lines. It drops lines beyond its bound, and then writes a line with their number.
 *
 * It encodes each line at once, while the line is in the processor's cache; thousands of strings would also survive the
 * collections of the young generation.
 */
export class LineWriter implements LogLines {
  readonly #open: () => Target
  readonly #options: LineOptions
  #target: Target
  /** The lines that wait, and the bytes they take. */
  #buffer = Buffer.allocUnsafeSlow(BUFFER)
  #end = 0
  /** The buffer of the write under way; else empty. */
  #other = Buffer.allocUnsafeSlow(BUFFER)
  /** Bytes of the lines in the write under way, and its target while the system has them. */
  #underWay = 0
  #inUse: Target | undefined
  #isFaulty = false
  #timer: NodeJS.Timeout | undefined
  #dropped = 0
  #allDropped = 0
  #flushed: (() => void)[] = []

  /** @param open opens the target, now and in `reopen` */
  constructor(open: () => Target, options: LineOptions) {
    this.#open = open
    this.#options = options
    this.#target = open()
  }

  /** The number of dropped lines since the start. */
  get dropped(): number {
    return this.#allDropped
  }

  /** Bytes that wait for a write or are in one. */
  get waiting(): number {
    return this.#end + this.#underWay
  }

  /** Never waits, fails or throws. */
  write(json: string): void {
    const line = this.#options.format(json)
    const size = Buffer.byteLength(line)
    if (this.waiting + size > this.#options.maxWaiting) {
      this.#dropped++
      this.#allDropped++
      return
    }
    this.#add(line, size)
    if (this.#underWay === 0) this.#schedule()
  }

  /**
   * Opens the target again, such as a file that a program for log rotation has moved. Makes all later writes to it, and
   * closes the present one after the write under way. If `open` throws, the present target goes on.
   */
  reopen(): void {
    const last = this.#target
    this.#target = this.#open()
    if (last !== this.#inUse) last.close()
  }

  /** Resolves once all lines so far are written, or a write of them has failed. Never resolves if a reader is stuck. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#flushed.push(resolve)
      if (this.#underWay === 0) this.#writeNext()
    })
  }

  #add(line: string, size: number): void {
    const end = this.#end + size
    if (end > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, 2 * this.#buffer.length))
      this.#buffer.copy(larger, 0, 0, this.#end)
      this.#buffer = larger
    }
    this.#buffer.write(line, this.#end)
    this.#end = end
  }

  #schedule(): void {
    const { gatherTime } = this.#options
    const isDue = this.#end >= BATCH || gatherTime === 0 || this.#flushed.length > 0 || this.#dropped > 0
    if (isDue) this.#writeNext()
    else if (this.#end > 0) this.#timer ??= setTimeout(() => this.#writeNext(), gatherTime).unref()
  }

  #writeNext(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#dropped > 0) this.#addDropped()
    if (this.#end === 0) {
      this.#callFlushed()
      return
    }
    const full = this.#buffer
    this.#underWay = this.#end
    this.#buffer = this.#other
    this.#other = full.length > BUFFER ? Buffer.allocUnsafeSlow(BUFFER) : full
    this.#end = 0
    this.#writeBytes(full.subarray(0, this.#underWay))
  }

  #addDropped(): void {
    const time = new Date().toISOString()
    const members = { level: 40, time, msg: this.#options.dropped, dropped: this.#dropped }
    const line = this.#options.format(`${JSON.stringify(members)}\n`)
    this.#add(line, Buffer.byteLength(line))
    this.#dropped = 0
  }

  #writeBytes(bytes: Buffer): void {
    const target = this.#target
    this.#inUse = target
    target.write(bytes, (error, written) => {
      this.#inUse = undefined
      if (target !== this.#target) target.close()
      if (error !== null) {
        const isSlow = error.code === 'EAGAIN'
        if (!isSlow) this.#failed(error)
        setTimeout(() => this.#writeBytes(bytes), isSlow ? SLOW_RETRY : FAULT_RETRY).unref()
      } else if (written < bytes.length) {
        this.#writeBytes(bytes.subarray(written))
      } else {
        if (this.#isFaulty) this.#options.onMended?.()
        this.#isFaulty = false
        this.#underWay = 0
        this.#schedule()
      }
    })
  }

  #failed(error: NodeJS.ErrnoException): void {
    this.#callFlushed()
    if (!this.#isFaulty) this.#options.onFault?.(error)
    this.#isFaulty = true
  }

  #callFlushed(): void {
    for (const done of this.#flushed.splice(0)) done()
  }
}

/** Returns a target that appends to an open file. */
export const fileTarget = (fd: number): Target => ({
  write: (bytes, done) => write(fd, bytes, 0, bytes.length, null, done),
  close: () => closeSync(fd),
})

export function standardError(): Target {
  const stat = fstatSync(2)
  if (!stat.isFIFO() && !stat.isSocket()) return fileTarget(isatty(2) ? ownTerminal() : 2)
  return {
    // Node.js writes to pipes and sockets without blocking.
    write: (bytes, done) => void process.stderr.write(bytes, (error) => done(error ?? null, bytes.length)),
    close: () => {},
  }
}

/**
 * Opens the terminal again as non-blocking. `process.stderr` blocks on a terminal, and a change of the shared
 * descriptor would affect the shell too.
 */
function ownTerminal(): number {
  try {
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    // The system is not Linux, or the terminal belongs to another user.
    return 2
  }
}
