import { AppError } from '../../domain/errors.ts'
import { abortable } from '../../domain/store.ts'
import { indexPath } from '../indexed.ts'
import { sizeOf } from './reserve.ts'

/**
 * Bytes. While long reads overlap, SQLite never restarts a WAL. Between these two bounds, it may become as long as the
 * store, so that a large store can be exported beside writes at full pace (4 to 10 MB of WAL a second). A crash leaves
 * at most this much to recover: about two seconds.
 */
const MIN_BOUND = 128 * 2 ** 20
const MAX_BOUND = 2 ** 30
/** Milliseconds between two looks at the lengths, and so between the ends of two reads. */
const INTERVAL = 250
/** Restarts that fail before the cause must be a long read of another process. */
const TRIES = 4

/** A read that keeps SQLite from restarting a WAL. */
interface WalReader {
  /** Aborts with the signal of the caller, and with AppError 50302 when the read is cut off. */
  readonly signal: AbortSignal
  end(): void
}

/**
 * Bounds the WALs of the store and of its search index, which long reads keep from restarting. Beyond the bound no
 * export begins, all other reads wait, and the oldest read is cut off, until SQLite can restart both WALs.
 *
 * Reads of other processes, such as a backup, can't be cut off. While one keeps a WAL long, the bound doubles.
 */
export class WalReaders {
  readonly #path: string
  readonly #restartWals: () => Promise<unknown>
  /** In the order of their beginnings. */
  readonly #readers = new Set<AbortController>()
  readonly #timer: NodeJS.Timeout
  /** Reads that wait until SQLite has restarted the WALs; undefined while these are within the bound. */
  #waiting: PromiseWithResolvers<void> | undefined
  #isRestarting = false
  /** Restarts that failed, one after the other. */
  #failures = 0
  /** Grows while another process keeps a WAL long. */
  #tolerated = 0

  /** @param restartWals has both WALs restarted, if no read needs them */
  constructor(path: string, restartWals: () => Promise<unknown>) {
    this.#path = path
    this.#restartWals = restartWals
    this.#timer = setInterval(() => void this.#look(), INTERVAL).unref()
  }

  /** @throws AppError 50302 while the WALs are too long for an export */
  beginExport(signal: AbortSignal | undefined): WalReader {
    if (this.#waiting) throw new AppError(50302, 'long reads keep the log of the store from ending; retry later')
    return this.#begin(signal)
  }

  /** Waits while the WALs are too long. */
  async begin(signal: AbortSignal | undefined): Promise<WalReader> {
    while (this.#waiting) await abortable(this.#waiting.promise, signal)
    return this.#begin(signal)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#endWait()
  }

  #begin(signal: AbortSignal | undefined): WalReader {
    signal?.throwIfAborted()
    const reader = new AbortController()
    this.#readers.add(reader)
    const abort = () => reader.abort(signal?.reason)
    // AbortSignal.any takes 30 µs, and this takes 3.
    signal?.addEventListener('abort', abort)
    const end = () => {
      signal?.removeEventListener('abort', abort)
      this.#readers.delete(reader)
    }
    return { signal: reader.signal, end }
  }

  async #look(): Promise<void> {
    if (this.#isRestarting) return
    const bound = Math.min(MAX_BOUND, Math.max(MIN_BOUND, sizeOf(this.#path)))
    const length = this.#length()
    if (length <= bound) this.#tolerated = 0
    if (length <= Math.max(bound, this.#tolerated)) return this.#endWait()
    this.#waiting ??= Promise.withResolvers()
    const [oldest] = this.#readers
    if (oldest !== undefined) {
      this.#readers.delete(oldest)
      oldest.abort(new AppError(50302, 'the log of the store became too long for a read that takes so long'))
      return
    }
    this.#isRestarting = true
    await this.#restartWals().catch(() => {})
    this.#isRestarting = false
    const left = this.#length()
    if (left > bound && ++this.#failures < TRIES) return
    if (left > bound) this.#tolerated = 2 * left
    this.#endWait()
  }

  #length(): number {
    return Math.max(sizeOf(`${this.#path}-wal`), sizeOf(`${indexPath(this.#path)}-wal`))
  }

  #endWait(): void {
    this.#failures = 0
    this.#waiting?.resolve()
    this.#waiting = undefined
  }
}
