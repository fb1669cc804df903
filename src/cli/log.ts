import { appendFileSync, closeSync, constants, fstatSync, openSync, write } from 'node:fs'
import { userInfo } from 'node:os'
import { isatty } from 'node:tty'
import pino, { type Logger } from 'pino'
import type { BoundUse } from '../base/counts.ts'
import { isFileOfStore } from '../base/files.ts'
import { OperatorError } from '../base/operator-error.ts'
import { onOneLine, printable } from '../base/printable.ts'
import type { Actor } from '../domain/token.ts'
import { AuditLog } from '../http/answer/records.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import { fileFault, isNoJsonLog } from './plant-files.ts'

/** Members with a fixed place in the text. */
const FIXED_MEMBERS = ['level', 'time', 'msg', 'err']

interface Log {
  readonly log: Logger
  readonly lines: LineWriter
}

/** Opens the log on standard error, as JSON or as text on a terminal. Standard output stays free for the banner. */
export function openLog(config: Config): Log {
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
export function formatOf({ logFormat }: Pick<Config, 'logFormat'>): (line: string) => string {
  const isText = logFormat === 'text' || (logFormat === 'auto' && isatty(2))
  return isText ? logText : (line) => line
}

/**
 * Turns a JSON line of the log into text for a terminal: the time of day, the level, the message, and all other
 * members. The stack of an error follows on separate lines. Escapes control characters, which could disguise the text.
 */
export function logText(line: string): string {
  const members = JSON.parse(line) as Readonly<Record<string, unknown>>
  const { level, time, msg, err } = members
  const name = pino.levels.labels[Number(level)] ?? String(level)
  const others = Object.entries(members)
    .filter(([member]) => !FIXED_MEMBERS.includes(member))
    .map(([member, value]) => `${member}=${shown(value)}`)
  const head = [timeOfDay(time), name.toUpperCase().padEnd(5), String(msg ?? ''), others.join(' ')]
  return `${onOneLine(head.filter((part) => part !== '').join('  ')).trimEnd()}\n${stackOf(err)}`
}

/** Quotes a text with blanks, so that it cannot pass for further members. */
const shown = (value: unknown): string =>
  typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value)

/** Returns the time of day of a time in ISO 8601 that ends in Z. */
const timeOfDay = (time: unknown): string => String(time).slice(11, -1)

/** Returns the stack of an error in pino's form, indented. */
function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('stack' in error)) return ''
  return `${printable(String(error.stack)).replaceAll(/^/gm, '    ')}\n`
}

/** Bytes of lines that are written at once, and of a buffer, which has room for some lines more. */
const BATCH = 2 ** 16
const BUFFER = BATCH + 2 ** 13
/** Milliseconds until the retry of a write to a slow reader, and of a write that failed, such as on a full disk. */
const SLOW_RETRY = 50
const FAULT_RETRY = 1000

/** Takes bytes, such as an open file. No write blocks, because Node.js waits for its threads when the process ends. */
interface Target {
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void
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
 *
 * It encodes each line at once, while the line is in the processor's cache; thousands of strings would also survive the
 * collections of the young generation.
 */
export class LineWriter {
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

  /** The bytes that wait for a write or are in one, and the lines dropped since the start. */
  get bound(): Required<BoundUse> {
    return { max: this.#options.maxWaiting, used: this.#end + this.#underWay, refused: this.#allDropped }
  }

  /** Never waits, fails or throws. */
  write(json: string): void {
    const line = this.#options.format(json)
    const size = Buffer.byteLength(line)
    if (this.#end + this.#underWay + size > this.#options.maxWaiting) {
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

function standardError(): Target {
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

/** The number of the level info in pino. */
const INFO = 30
/** Milliseconds. At the load of a benchmark, thousands of lines share a write. */
const GATHER_TIME = 100

interface ServiceAudit {
  readonly audit: AuditLog
  readonly lines: LineWriter
  /** Opens the file again after a program for log rotation has moved it. Does nothing for standard error. */
  reopen(): void
}

/**
 * Opens the audit log of a service: a file, or standard error at the log's level info and in the log's format.
 *
 * @throws OperatorError when the file can't be opened
 */
export function serviceAudit(config: Config, log: Logger): ServiceAudit {
  const { auditLog, auditBuffer, store } = config
  const path = auditLog === '-' ? undefined : auditLog
  const open = path === undefined ? standardError : () => fileTarget(openAppending(path, [store]))
  const lines = new LineWriter(open, {
    maxWaiting: auditBuffer,
    gatherTime: GATHER_TIME,
    format: path === undefined ? formatOf(config) : (line) => line,
    dropped: 'audit lines were dropped',
    onFault: (error) => log.error({ err: error }, 'the audit log cannot be written; its lines wait'),
    onMended: () => log.warn('the audit log is written again'),
  })
  const isOn = auditLog === '-' ? () => log.levelVal <= INFO : () => path !== undefined
  return {
    audit: new AuditLog(lines, isOn),
    lines,
    reopen() {
      try {
        if (path !== undefined) lines.reopen()
      } catch (error) {
        log.error({ err: error }, 'the audit log could not be opened again, so the present file goes on')
      }
    },
  }
}

/** Writes the actions of a command to the audit log. */
export class CommandAudit {
  readonly #file: number | undefined
  readonly #actor: Actor
  readonly #log: AuditLog

  /**
   * @param stores the stores of the command, whose files can't be the audit log
   * @param withoutFile the target of lines when no file is set: `standard error`, unless that is a terminal, or `none`
   *   for a command whose summary says the same
   * @throws OperatorError when the file can't be opened, so that the command does nothing without a line
   */
  constructor(
    auditLog: Config['auditLog'],
    stores: readonly StoreAddress[],
    actor: Actor,
    withoutFile: 'standard error' | 'none',
  ) {
    this.#actor = actor
    this.#file = auditLog === undefined || auditLog === '-' ? undefined : openAppending(auditLog, stores)
    // On a terminal, a person reads the command's own output.
    const isOn =
      this.#file !== undefined || (auditLog === '-' && withoutFile === 'standard error' && !process.stderr.isTTY)
    this.#log = new AuditLog({ write: (line) => this.#writeLine(line) }, () => isOn)
  }

  write(operation: string, outcome: string, details: object): void {
    if (this.#log.isOn) this.#log.write({ operation, outcome, details, actor: this.#actor, user: userName() })
  }

  /**
   * Runs long work, and writes a line at its start and one at its end.
   *
   * @param done the outcome of completed work
   * @param work returns whether it has completed
   */
  async around(operation: string, details: () => object, done: string, work: () => Promise<boolean>): Promise<void> {
    this.write(operation, 'began', details())
    let outcome = 'broken off'
    try {
      if (await work()) outcome = done
    } finally {
      this.write(operation, outcome, details())
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }

  /** Writes a line, and on a failure prints it on standard error: the work is already done. */
  #writeLine(line: string): void {
    if (this.#file === undefined) {
      process.stderr.write(line)
      return
    }
    try {
      appendFileSync(this.#file, line)
    } catch (error) {
      process.stderr.write(`plantstore: the audit log cannot be written (${(error as Error).message}): ${line}`)
    }
  }
}

/** O_NONBLOCK makes an open fail at once for a pipe without a reader, and a write for a slow reader. */
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants

/** @throws OperatorError when the file can't be opened, or has other content, which lines at its end would damage */
function openAppending(path: string, stores: readonly StoreAddress[]): number {
  if (isNoJsonLog(path) || stores.some((store) => store.engine === 'sqlite' && isFileOfStore(path, store.path))) {
    throw new OperatorError(`${path}: has other content than an audit log; choose another file`)
  }
  try {
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600)
  } catch (error) {
    throw fileFault(path, error)
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
