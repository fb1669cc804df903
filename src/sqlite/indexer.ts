import { AppError } from '../errors.ts'
import { shuttingDown } from './errors.ts'
import type { IndexProgress } from './writer.ts'
import type { WriterPort } from './writer-port.ts'

/** Nobody has written for so long when plants are indexed in the background, in milliseconds. */
const IDLE = 30
/**
 * Plants that are indexed with one commit while nobody writes, or while somebody waits for it; more when many are to go,
 * as a page of an index that is written anew then takes more of them.
 */
const BATCH = 1000
const LARGE_BACKLOG = 50_000
const LARGE_BATCH = 10_000
/** With so many plants to go, some are indexed after every group, so that they don't become many more. */
const BUSY_BACKLOG = 200_000
const BUSY_BATCH = 200
/** How soon it is tried again in the background after it failed, in milliseconds. */
const RETRY = 1000

/** Has the writer index plants, when it disturbs least and when somebody needs it (docs/decisions/0014-search-index.md). */
export class Indexer {
  readonly #writer: WriterPort
  readonly #onFault: (fault: string) => void
  #isFaulty = false
  #running: Promise<IndexProgress> | undefined
  #timer: NodeJS.Timeout | undefined
  /** Plants that are to be indexed, about; at the start nobody knows whether there are any. */
  #backlog = 1
  #wroteAt = performance.now()
  #underWay = 0
  #isClosed = false

  /** @param onFault told in a sentence of a fault in the background, and not again before it has gone */
  constructor(writer: WriterPort, onFault: (fault: string) => void) {
    this.#writer = writer
    this.#onFault = onFault
    this.#wait(IDLE)
  }

  /**
   * Runs one of many writes that come one after the other, as those of an import do. What they write is indexed behind the
   * last of them: doing both by turns took an import of a million plants twice as long.
   */
  async during<T>(plants: number, write: () => Promise<T>): Promise<T> {
    this.#underWay++
    try {
      return await write()
    } finally {
      this.#underWay--
      this.#backlog += plants
      this.#wroteAt = performance.now()
      this.#wait(IDLE)
    }
  }

  /** Told after every commit that wrote plants. */
  wrote(plants: number): void {
    this.#backlog += plants
    this.#wroteAt = performance.now()
    if (this.#backlog > BUSY_BACKLOG) this.#inBackground(BUSY_BATCH)
    else this.#wait(IDLE)
  }

  /**
   * Resolves when so many plants, or all, were indexed.
   *
   * @param deadline on the clock of performance.now()
   * @throws AppError 50305 when it is not done by then
   */
  async catchUp(plants: number, deadline: number): Promise<void> {
    for (let left = plants; left > 0; ) {
      if (this.#isClosed) throw shuttingDown()
      if (performance.now() > deadline) throw stillBehind(left)
      const { indexed, isDone } = await this.index()
      left = isDone ? 0 : left - indexed
    }
  }

  /** Indexes the next batch. */
  index(): Promise<IndexProgress> {
    return this.#index(this.#batch)
  }

  /** Resolves when nothing is under way; what is left is done after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running?.catch(() => {})
  }

  get #batch(): number {
    return this.#backlog > LARGE_BACKLOG ? LARGE_BATCH : BATCH
  }

  #wait(time: number): void {
    if (this.#backlog <= 0 || this.#isClosed) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      if (this.#underWay === 0 && performance.now() - this.#wroteAt >= IDLE) this.#inBackground(this.#batch)
      else this.#wait(IDLE)
    }, time).unref()
  }

  #inBackground(most: number): void {
    if (this.#running !== undefined || this.#isClosed) return
    this.#index(most).then(
      () => {
        this.#isFaulty = false
        this.#wait(0)
      },
      (error: unknown) => {
        if (!this.#isFaulty) this.#onFault(inWords(error))
        this.#isFaulty = true
        this.#wait(RETRY)
      },
    )
  }

  /** One batch at a time: whoever comes meanwhile shares it. */
  #index(most: number): Promise<IndexProgress> {
    this.#running ??= this.#writer
      .call('indexPlants', most)
      .then((progress) => {
        this.#backlog = progress.isDone ? 0 : Math.max(1, this.#backlog - progress.indexed)
        return progress
      })
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }
}

function inWords(error: unknown): string {
  const { message } = error instanceof AppError && error.cause instanceof Error ? error.cause : (error as Error)
  return `plants that were written lately can't be indexed (${message}); searches refuse to answer when there are too many, and it is tried again every second`
}

const stillBehind = (plants: number): AppError =>
  new AppError(50305, `at least ${plants} plants that were written lately can't be searched yet; try again later`, {
    headers: { 'Retry-After': '5' },
  })
