import type { AppError } from '../domain/errors.ts'
import { ConnectionFault, outOfReach } from './errors.ts'
import type { Budget } from './pool/budget.ts'

export interface Timed {
  /** Milliseconds on the clock of performance.now(). */
  readonly deadline: number
}

interface Open extends Timed {
  /** Rejects the request; undefined once the request is settled. */
  refuse: ((error: AppError) => void) | undefined
}

/**
 * Settles every request by its deadline, even while the request waits for its group. A late request rejects with
 * AppError 50301, as the outcome of its statement is unknown. All requests have one timeout, so one timer for the
 * oldest suffices.
 */
export class RequestDeadlines {
  readonly #timeout: number
  /** In the order of their deadlines. */
  readonly #open: Open[] = []
  #timer: NodeJS.Timeout | undefined

  /** @param timeout milliseconds */
  constructor(timeout: number) {
    this.#timeout = timeout
  }

  /** Returns the deadline of a request that begins now. */
  get deadline(): number {
    return performance.now() + this.#timeout
  }

  /** Settles like the work, or rejects at the deadline. */
  limit<T>(deadline: number, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const open: Open = { deadline, refuse: reject }
      this.#open.push(open)
      this.#timer ??= this.#wait(deadline)
      const settle =
        <Answer>(answer: (value: Answer) => void) =>
        (value: Answer) => {
          open.refuse = undefined
          answer(value)
        }
      work.then(settle(resolve), settle(reject))
    })
  }

  /** Leaves out the rows whose deadlines have passed, so that a write that was refused is not made later. */
  static async inTime<Row extends Timed, Result>(
    rows: readonly Row[],
    work: (rows: readonly Row[], budget: Budget) => Promise<readonly (Result | AppError)[]>,
  ): Promise<readonly (Result | AppError)[]> {
    const now = performance.now()
    const first = rows.findIndex(({ deadline }) => deadline > now)
    const last = rows.at(-1)
    if (first === -1 || last === undefined) return rows.map(outOfTime)
    const results = await work(first === 0 ? rows : rows.slice(first), { deadline: last.deadline })
    return first === 0 ? results : [...rows.slice(0, first).map(outOfTime), ...results]
  }

  #wait(deadline: number): NodeJS.Timeout {
    return setTimeout(() => this.#sweep(), Math.max(1, deadline - performance.now())).unref()
  }

  #sweep(): void {
    const now = performance.now()
    const first = this.#open.findIndex(({ refuse, deadline }) => refuse !== undefined && deadline > now)
    const done = this.#open.splice(0, first === -1 ? this.#open.length : first)
    const [oldest] = this.#open
    this.#timer = oldest === undefined ? undefined : this.#wait(oldest.deadline)
    for (const { refuse } of done) refuse?.(outOfTime())
  }
}

const outOfTime = (): AppError => outOfReach(new ConnectionFault('the deadline of the request has passed'))
