import { accessSync, appendFileSync, closeSync, constants, fstatSync, openSync, statSync, write } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { promisify } from 'node:util'
import pino, { type Logger } from 'pino'
import { Bound } from '../base/counts.ts'
import { isFileOfStore, storePath } from '../base/files.ts'
import { OperatorError } from '../base/operator-error.ts'
import { onOneLine, printable } from '../base/printable.ts'
import type { Actor } from '../domain/token.ts'
import { AuditLog } from '../http/answer/audit-log.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import { isNoJsonLog, onFile } from './plant-files.ts'

/** Opens the log on standard error, as JSON or as text on a terminal. Standard output stays free for the banner. */
export function openLog(config: Config): { readonly log: Logger; readonly lines: LineWriter } {
  const lines = new LineWriter(standardError, {
    maxWaiting: config.logBuffer,
    // A line that waits for others would be lost with a process that a fault ends.
    gatherTime: 0,
    format: formatOf(config),
    dropped: 'log lines were dropped because their reader was too slow',
  })
  const log = pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines)
  return { log, lines }
}

/** Returns what turns a line of JSON into a line on standard error: text for a person, or the same. */
function formatOf({ logFormat }: Pick<Config, 'logFormat'>): (line: string) => string {
  const isText = logFormat === 'text' || (logFormat === 'auto' && isatty(2))
  return isText ? logText : (line) => line
}

/**
 * Turns a JSON line of the log into text for a terminal: the time of day, the level, the message, and all other
 * members. The stack of an error follows on separate lines. Escapes control characters, which could disguise the text.
 */
export function logText(line: string): string {
  const { level, time, msg, err, ...others } = JSON.parse(line) as Readonly<Record<string, unknown>>
  const name = pino.levels.labels[Number(level)] ?? String(level)
  const members = Object.entries(others).map(([member, value]) => `${member}=${shown(value)}`)
  // The time is in ISO 8601 and ends in Z.
  const timeOfDay = String(time).slice(11, -1)
  const head = [timeOfDay, name.toUpperCase().padEnd(5), String(msg ?? ''), members.join(' ')]
  return `${onOneLine(head.filter((part) => part !== '').join('  ')).trimEnd()}\n${stackOf(err)}`
}

/** Quotes a text with blanks, so that it cannot pass for further members. */
const shown = (value: unknown): string =>
  typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value)

/** Returns the stack of an error in pino's form, indented. */
function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('stack' in error)) return ''
  return `${printable(String(error.stack)).replaceAll(/^/gm, '    ')}\n`
}

/** UTF-16 units of lines that do not wait for more lines. */
const BATCH = 2 ** 16
/** Milliseconds until the retry of a write to a slow reader, and of a write that failed, such as on a full disk. */
const SLOW_RETRY = 50
const FAULT_RETRY = 1000

/** Takes bytes, such as an open file. No write blocks, because Node.js waits for its threads when the process ends. */
interface Target {
  /** Resolves with the number of bytes written. */
  write(bytes: Buffer): Promise<number>
  close(): void
}

interface LineOptions {
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
 */
export class LineWriter {
  /** The bytes that wait for a write or are in one, and the lines dropped since the start. */
  readonly bound: Bound
  readonly #open: () => Target
  readonly #options: LineOptions
  #target: Target
  /** The target of the write under way. */
  #inUse: Target | undefined
  #text = ''
  #isFaulty = false
  #timer: NodeJS.Timeout | undefined
  /** The dropped lines that no line has counted yet. */
  #dropped = 0
  #flushed: (() => void)[] = []

  /** @param open opens the target, now and in `reopen` */
  constructor(open: () => Target, options: LineOptions) {
    this.bound = new Bound(options.maxWaiting)
    this.#open = open
    this.#options = options
    this.#target = open()
  }

  /** Never waits, fails or throws. */
  write(json: string): void {
    const line = this.#options.format(json)
    if (this.bound.hasRoom(Buffer.byteLength(line))) {
      this.#add(line)
      if (this.#inUse === undefined) this.#schedule()
    } else {
      this.#dropped++
      this.bound.refused++
    }
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
      if (this.#inUse === undefined) this.#schedule()
    })
  }

  #add(line: string): void {
    this.#text += line
    this.bound.used += Buffer.byteLength(line)
  }

  #schedule(): void {
    const { gatherTime, format, dropped: msg } = this.#options
    if (this.#dropped > 0) {
      const members = { level: 40, time: new Date().toISOString(), msg, dropped: this.#dropped }
      this.#add(format(`${JSON.stringify(members)}\n`))
      this.#dropped = 0
    }
    if (this.#text === '') this.#callFlushed()
    else if (this.#text.length >= BATCH || gatherTime === 0 || this.#flushed.length > 0) void this.#writeAll()
    else this.#timer ??= setTimeout(() => void this.#writeAll(), gatherTime).unref()
  }

  async #writeAll(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    for (let done = 0; done < bytes.length; ) done += await this.#writeSome(bytes.subarray(done))
    if (this.#isFaulty) this.#options.onMended?.()
    this.#isFaulty = false
    this.bound.used -= bytes.length
    this.#inUse = undefined
    this.#schedule()
  }

  /** @returns the number of bytes written: none after a fault, and a pause */
  async #writeSome(bytes: Buffer): Promise<number> {
    const target = this.#target
    this.#inUse = target
    try {
      return await target.write(bytes)
    } catch (error) {
      const isSlow = (error as NodeJS.ErrnoException).code === 'EAGAIN'
      if (!isSlow) {
        this.#callFlushed()
        if (!this.#isFaulty) this.#options.onFault?.(error as NodeJS.ErrnoException)
        this.#isFaulty = true
      }
      await sleep(isSlow ? SLOW_RETRY : FAULT_RETRY, undefined, { ref: false })
      return 0
    } finally {
      if (target !== this.#target) target.close()
    }
  }

  #callFlushed(): void {
    for (const done of this.#flushed.splice(0)) done()
  }
}

const writeTo = promisify(write)

/** Returns a target that appends to an open file. */
export const fileTarget = (fd: number): Target => ({
  write: async (bytes) => (await writeTo(fd, bytes)).bytesWritten,
  close: () => closeSync(fd),
})

function standardError(): Target {
  const stat = fstatSync(2)
  if (!stat.isFIFO() && !stat.isSocket()) return fileTarget(isatty(2) ? ownTerminal() : 2)
  return {
    // Node.js writes to pipes and sockets without blocking.
    write: (bytes) =>
      new Promise((resolve, reject) => {
        process.stderr.write(bytes, (error) => (error ? reject(error) : resolve(bytes.length)))
      }),
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

/** The number of the level info in pino. */
const INFO = 30
/** Milliseconds. At the load of a benchmark, thousands of lines share a write. */
const GATHER_TIME = 100

/**
 * Opens the audit log of a service: a file, or standard error at the log's level info and in the log's format.
 *
 * @param openFile what `auditFile` has returned
 */
export function serviceAudit(config: Config, log: Logger, openFile: ReturnType<typeof auditFile>) {
  const open = openFile === undefined ? standardError : () => fileTarget(openFile())
  const lines = new LineWriter(open, {
    maxWaiting: config.auditBuffer,
    gatherTime: GATHER_TIME,
    format: openFile === undefined ? formatOf(config) : (line) => line,
    dropped: 'audit lines were dropped',
    onFault: (error) => log.error({ err: error }, 'the audit log cannot be written; its lines wait'),
    onMended: () => log.warn('the audit log is written again'),
  })
  const isOn = config.auditLog === '-' ? () => log.levelVal <= INFO : () => openFile !== undefined
  return {
    audit: new AuditLog(lines, isOn),
    lines,
    /** Opens the file again after a program for log rotation has moved it. Does nothing for standard error. */
    reopen() {
      try {
        if (openFile !== undefined) lines.reopen()
      } catch (error) {
        log.error({ err: error }, 'the audit log could not be opened again, so the present file goes on')
      }
    },
  }
}

export class CommandAudit {
  readonly #openFile: ReturnType<typeof auditFile>
  #file: number | undefined
  readonly #actor: Actor
  readonly #log: AuditLog

  /**
   * Prepares the file, so that the command does nothing if it can't write there. Without a file, the lines of a command
   * whose output does not say the same go to standard error. On a terminal, a person reads the command's own output.
   *
   * @param stores the stores of the command, whose files can't be the audit log
   */
  constructor(auditLog: Config['auditLog'], stores: readonly StoreAddress[], actor: Actor, toStandardError = false) {
    this.#actor = actor
    this.#openFile = auditFile(auditLog, stores)
    const isOn = this.#openFile !== undefined || (auditLog === '-' && toStandardError && !process.stderr.isTTY)
    this.#log = new AuditLog({ write: (line) => this.#writeLine(line) }, () => isOn)
  }

  write(operation: string, outcome: string, details: object): void {
    if (this.#log.isOn) this.#log.write({ operation, outcome, details, actor: this.#actor, user: userName() })
  }

  /** Runs long work, and writes a line at its start, and one with the outcome `done` or `broken off` at its end. */
  async around(operation: string, details: () => object, done: string, work: () => Promise<void>): Promise<void> {
    this.write(operation, 'began', details())
    let outcome = 'broken off'
    try {
      await work()
      outcome = done
    } finally {
      this.write(operation, outcome, details())
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }

  /** Writes a line, and on a failure prints it on standard error: the work is already done. */
  #writeLine(line: string): void {
    if (this.#openFile === undefined) {
      process.stderr.write(line)
      return
    }
    try {
      this.#file ??= this.#openFile()
      appendFileSync(this.#file, line)
    } catch (error) {
      process.stderr.write(`plantstore: the audit log cannot be written (${(error as Error).message}): ${line}`)
    }
  }
}

/** O_NONBLOCK makes an open fail at once for a pipe without a reader, and a write for a slow reader. */
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants

/**
 * Prepares the file of an audit log. Holds a pipe open, whose reader may end with its first writer. An absent file is
 * made only for the first line, once a store is accepted, so that a refused start leaves none.
 *
 * @param stores the stores whose files can't be the audit log
 * @returns a function that opens the file, the next time by its name again; undefined where no file is wanted
 * @throws OperatorError for a path that takes no lines
 */
export function auditFile(path: Config['auditLog'], stores: readonly StoreAddress[]): (() => number) | undefined {
  if (path === undefined || path === '-') return undefined
  const isOfStore = stores.some((store) => store.engine === 'sqlite' && isFileOfStore(path, store.path))
  const open = () => {
    // Lines at its end would damage a file of something else.
    if (isOfStore || isNoJsonLog(path)) {
      throw new OperatorError(`${path}: has other content than an audit log; choose another file`)
    }
    return onFile(path, () => openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600))
  }
  let held = !isOfStore && canBeMade(path) ? undefined : open()
  // A program for log rotation may move a file away before the store is open.
  if (held !== undefined && fstatSync(held).isFile()) held = void closeSync(held)
  return () => {
    const file = held ?? open()
    held = undefined
    return file
  }
}

/** Whether there is no file, and its folder takes one. The attempt to open any other path tells its fault. */
function canBeMade(path: string): boolean {
  try {
    accessSync(dirname(storePath(path)), constants.W_OK | constants.X_OK)
    // Throws for a name that is too long.
    return statSync(path, { throwIfNoEntry: false }) === undefined && !path.endsWith('/')
  } catch {
    return false
  }
}

/** Returns the name of the account, or its number if it has no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
