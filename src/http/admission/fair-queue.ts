import { AppError } from '../../domain/errors.ts'

export interface QueueOptions {
  /** The name of the work in a refusal, such as `searches`. */
  readonly noun: string
  /** Work that runs at once. */
  readonly running: number
  readonly runningPerToken: number
  /** Work that waits at once; with 0 the queue refuses work instead. */
  readonly waiting: number
  readonly waitingPerToken: number
  /** A bound that this queue shares with others. */
  readonly shared?: SharedBound | undefined
}

/** A bound on the running work of several queues. */
export class SharedBound {
  readonly noun: string
  readonly max: number
  running = 0

  /** @param noun the name of the work in a refusal, such as `exports and dry runs` */
  constructor(noun: string, max: number) {
    this.noun = noun
    this.max = max
  }

  get isReached(): boolean {
    return this.running >= this.max
  }
}

/** The bound that refused work: the bound of its token, or the bound that all tokens share. */
export type Bound = 'token' | 'all'

/** The work of one token that runs or waits. */
interface Line {
  running: number
  readonly waiting: Set<() => void>
}

/** Admits a bounded amount of work. Tokens with waiting work take turns, whatever the amount of each. */
export class FairQueue {
  readonly refused: Record<Bound, number> = { token: 0, all: 0 }
  readonly #options: QueueOptions
  /** By token, in the order of their turns. */
  readonly #lines = new Map<string, Line>()
  #running = 0
  #waiting = 0

  constructor(options: QueueOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running
  }

  get bounds(): Pick<QueueOptions, 'running' | 'waiting'> {
    return this.#options
  }

  get waiting(): number {
    return this.#waiting
  }

  /**
   * Resolves when the work may run, with a function that ends its turn. A second call of the function does nothing.
   *
   * @param signal ends the wait, which then rejects with the signal's reason
   * @throws AppError 42901 when the token has too much work under way, 50302 when all tokens together have
   */
  async enter(token: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    const line = this.#lines.get(token) ?? { running: 0, waiting: new Set() }
    if (!this.#hasPlace(line)) await this.#wait(token, line, signal)
    else this.#start(token, line)
    let isOver = false
    return () => {
      if (!isOver) this.#end(token, line)
      isOver = true
    }
  }

  #hasPlace({ running }: Line): boolean {
    const limits = this.#options
    return this.#running < limits.running && running < limits.runningPerToken && limits.shared?.isReached !== true
  }

  #wait(token: string, line: Line, signal: AbortSignal): Promise<void> {
    this.#refuseExcess(line)
    return new Promise((resolve, reject) => {
      const leave = () => {
        line.waiting.delete(start)
        this.#waiting--
        signal.removeEventListener('abort', giveUp)
      }
      const start = () => {
        leave()
        this.#start(token, line)
        resolve()
      }
      const giveUp = () => {
        leave()
        this.#forgetEmpty(token, line)
        reject(signal.reason)
      }
      line.waiting.add(start)
      this.#lines.set(token, line)
      this.#waiting++
      signal.addEventListener('abort', giveUp)
    })
  }

  #refuseExcess({ running, waiting }: Line): void {
    const { noun, shared, ...limits } = this.#options
    const isLineFull = waiting.size >= limits.waitingPerToken
    if (isLineFull && (limits.waitingPerToken > 0 || running >= limits.runningPerToken)) {
      this.refused.token++
      const message = `${waiting.size || running} ${noun} of this token are already in progress; wait until one ends`
      throw new AppError(42901, message)
    }
    if (this.#waiting >= limits.waiting) {
      this.refused.all++
      const running =
        shared?.isReached === true ? `${shared.running} ${shared.noun}` : `${this.#waiting || this.#running} ${noun}`
      throw new AppError(50302, `${running} are already in progress; retry later`)
    }
  }

  /** Moves the token to the end of the queue. */
  #start(token: string, line: Line): void {
    this.#running++
    if (this.#options.shared !== undefined) this.#options.shared.running++
    line.running++
    this.#lines.delete(token)
    this.#lines.set(token, line)
  }

  #end(token: string, line: Line): void {
    this.#running--
    if (this.#options.shared !== undefined) this.#options.shared.running--
    line.running--
    this.#forgetEmpty(token, line)
    for (const next of this.#lines.values()) {
      const [start] = next.waiting
      if (start === undefined || !this.#hasPlace(next)) continue
      start()
      return
    }
  }

  #forgetEmpty(token: string, { running, waiting }: Line): void {
    if (running + waiting.size === 0) this.#lines.delete(token)
  }
}
