import { constants, fstatSync, openSync, write } from 'node:fs'
import { isatty } from 'node:tty'
import pino, { type Logger } from 'pino'
import type { Config } from '../config.ts'
import type { LogLines } from '../http/metrics/service-metrics.ts'
import type { Target } from './audit-output.ts'
import { logText } from './log-text.ts'

/** Milliseconds until the next attempt to write to a terminal whose buffer is full. */
const RETRY = 50

type Sink = Target['write']

/**
 * Writes log lines to standard error, and never waits for its reader.
 *
 * No write here may block. A blocking write, to a pipe that nobody reads or to a terminal after Ctrl-S, would also
 * block the end of the process, where Node.js waits for its threads.
 */
class LogOutput implements LogLines {
  readonly #sink: Sink
  /** Turns a line of JSON into the text to write. */
  readonly #format: (line: string) => string
  #waiting: string[] = []
  #length = 0
  /** Dropped lines since the last line that reported them, and since the start. */
  #dropped = 0
  #allDropped = 0
  readonly #maxWaiting: number
  #isWriting = false
  #onEmpty: (() => void)[] = []

  /** @param maxWaiting characters that may wait for the reader; the log drops and counts lines beyond them */
  constructor(maxWaiting: number, format: (line: string) => string) {
    this.#format = format
    this.#maxWaiting = maxWaiting
    this.#sink = sinkOf(2)
  }

  get dropped(): number {
    return this.#allDropped
  }

  /** Characters that wait for the reader. */
  get waiting(): number {
    return this.#length
  }

  write(json: string): void {
    const line = this.#format(json)
    if (this.#length + line.length > this.#maxWaiting) {
      this.#dropped++
      this.#allDropped++
      return
    }
    this.#waiting.push(line)
    this.#length += line.length
    if (!this.#isWriting) this.#writeNext()
  }

  /** Calls back once all lines so far are written. Without a reader it never calls back. */
  flush(done: () => void): void {
    if (this.#isWriting) this.#onEmpty.push(done)
    else done()
  }

  #writeNext(): void {
    if (this.#dropped > 0) {
      this.#waiting.push(this.#format(droppedLine(this.#dropped)))
      this.#dropped = 0
    }
    if (this.#waiting.length === 0) {
      this.#isWriting = false
      for (const done of this.#onEmpty.splice(0)) done()
      return
    }
    this.#isWriting = true
    const bytes = Buffer.from(this.#waiting.join(''))
    this.#waiting = []
    this.#writeBytes(bytes)
  }

  #writeBytes(bytes: Buffer): void {
    this.#sink(bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#writeBytes(bytes), RETRY).unref()
      } else if (error === null && written < bytes.length) {
        this.#writeBytes(bytes.subarray(written))
      } else {
        // The lines are written, or the reader has closed the stream: the log drops lines without a reader.
        this.#length = this.#waiting.reduce((sum, line) => sum + line.length, 0)
        this.#writeNext()
      }
    })
  }
}

function droppedLine(dropped: number): string {
  const msg = 'log lines were dropped because their reader was too slow'
  return `${JSON.stringify({ level: 40, time: new Date().toISOString(), dropped, msg })}\n`
}

/** Returns a function that writes bytes to a standard stream, and never blocks the process. */
export function sinkOf(fd: number): Sink {
  const stat = fstatSync(fd)
  if (stat.isFIFO() || stat.isSocket()) return toStream
  const target = isatty(fd) ? ownTerminal(fd) : fd
  return (bytes, done) => write(target, bytes, 0, bytes.length, null, done)
}

/** Node.js writes to pipes and sockets without blocking. */
const toStream: Sink = (bytes, done) => void process.stderr.write(bytes, (error) => done(error ?? null, bytes.length))

/**
 * Opens the terminal again as non-blocking. `process.stderr` blocks on a terminal, and a change of the shared
 * descriptor would affect the shell too.
 */
function ownTerminal(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    // The system is not Linux, or the terminal belongs to another user.
    return fd
  }
}

export interface Log {
  readonly log: Logger
  readonly lines: LogLines
}

/** Whether the lines on standard error are text for a person, and not JSON. */
export const isTextLog = ({ logFormat }: Pick<Config, 'logFormat'>): boolean =>
  logFormat === 'text' || (logFormat === 'auto' && isatty(2))

/** Opens the log on standard error, as JSON or as text on a terminal. Standard output stays free for the banner. */
export function openLog(config: Config): Log {
  const output = new LogOutput(config.logBuffer, isTextLog(config) ? logText : (line) => line)
  const log = pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, output)
  return { log, lines: output }
}
