import { closeSync, write } from 'node:fs'
import type { AuditSink } from '../audit.ts'
import { LineBuffer } from './line-buffer.ts'

/** Milliseconds and characters after which gathered lines are written. Each write costs a system call. */
const GATHER_TIME = 100
const GATHER_LENGTH = 2 ** 16
/** Milliseconds until the retry of a write to a slow reader, and of a write that failed, such as on a full disk. */
const SLOW_RETRY = 50
const FAULT_RETRY = 1000

type Done = (error: NodeJS.ErrnoException | null, written: number) => void

/** Takes bytes, such as an open file. */
export interface Target {
  write(bytes: Buffer, done: Done): void
  close(): void
}

export interface AuditOutputOptions {
  /** Characters of lines that may wait. Further lines are dropped and counted. */
  readonly maxWaiting: number
  /** Turns a line of JSON into a text with a line feed; absent for lines of JSON. */
  readonly format?: ((line: string) => string) | undefined
  readonly isOn: () => boolean
  /** Called once when a write fails, and once when a later write succeeds. */
  readonly onFault: (error: NodeJS.ErrnoException) => void
  readonly onMended: () => void
}

/**
 * Writes the lines of the audit log, and never blocks on the disk or a reader. It retries a failed write while further
 * lines wait. It drops lines beyond the bound, and then writes a line with their number.
 */
export class AuditOutput implements AuditSink {
  readonly #options: AuditOutputOptions
  #target: Target
  readonly #waiting = new LineBuffer()
  /** Characters of the lines in the write under way. */
  #underWay = 0
  /** The target of the write under way. */
  #inUse: Target | undefined
  #isFaulty = false
  #timer: NodeJS.Timeout | undefined
  #dropped = 0
  #allDropped = 0
  #onEmpty: (() => void)[] = []

  constructor(target: Target, options: AuditOutputOptions) {
    this.#target = target
    this.#options = options
  }

  get isOn(): boolean {
    return this.#options.isOn()
  }

  /** The number of dropped lines since the start. */
  get dropped(): number {
    return this.#allDropped
  }

  /** The number of characters that wait for a write. */
  get waiting(): number {
    return this.#waiting.length + this.#underWay
  }

  write(json: string): void {
    const line = this.#formatted(json)
    if (this.waiting + line.length > this.#options.maxWaiting) {
      this.#dropped++
      this.#allDropped++
      return
    }
    this.#waiting.add(line)
    if (this.#underWay === 0) this.#schedule()
  }

  /** Closes the present target after the write under way, and makes all later writes to another target. */
  switchTo(target: Target): void {
    const last = this.#target
    this.#target = target
    if (last !== this.#inUse) last.close()
  }

  /** Calls back once all lines so far are written. Without a reader it never calls back. */
  flush(done: () => void): void {
    this.#onEmpty.push(done)
    if (this.#underWay === 0) this.#schedule()
  }

  #formatted(json: string): string {
    const { format } = this.#options
    return format === undefined ? `${json}\n` : format(json)
  }

  #schedule(): void {
    if (this.#waiting.length >= GATHER_LENGTH || this.#onEmpty.length > 0 || this.#dropped > 0) this.#writeNext()
    else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#writeNext(), GATHER_TIME).unref()
  }

  #writeNext(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#dropped > 0) this.#waiting.add(this.#formatted(droppedLine(this.#dropped)))
    this.#dropped = 0
    if (this.#waiting.length === 0) {
      for (const done of this.#onEmpty.splice(0)) done()
      return
    }
    this.#underWay = this.#waiting.length
    this.#writeBytes(this.#waiting.take())
  }

  #writeBytes(bytes: Buffer): void {
    const target = this.#target
    this.#inUse = target
    target.write(bytes, (error, written) => {
      this.#inUse = undefined
      if (target !== this.#target) target.close()
      if (error !== null) {
        this.#failed(error)
        setTimeout(() => this.#writeBytes(bytes), error.code === 'EAGAIN' ? SLOW_RETRY : FAULT_RETRY).unref()
      } else if (written < bytes.length) {
        this.#writeBytes(bytes.subarray(written))
      } else {
        if (this.#isFaulty) this.#options.onMended()
        this.#isFaulty = false
        this.#underWay = 0
        this.#schedule()
      }
    })
  }

  #failed(error: NodeJS.ErrnoException): void {
    if (error.code === 'EAGAIN' || this.#isFaulty) return
    this.#isFaulty = true
    this.#options.onFault(error)
  }
}

function droppedLine(dropped: number): string {
  return JSON.stringify({ level: 40, time: new Date().toISOString(), msg: 'audit lines were dropped', dropped })
}

/** Returns a target that appends to an open file. */
export const fileTarget = (fd: number): Target => ({
  write: (bytes, done) => write(fd, bytes, 0, bytes.length, null, done),
  close: () => closeSync(fd),
})
