import type { Logger } from 'pino'
import type { AppError } from '../../errors.ts'
import { LogThrottle } from './log-throttle.ts'

/** The number of the level debug. The level may change while the service runs. */
export const DEBUG = 20
/** Characters of a message that a line of the log holds. */
const LONGEST_MESSAGE = 400
/** Characters of a path that a line of the log, or a span, holds. */
const LONGEST_PATH = 200

export interface RefusalFields {
  readonly address: string
  readonly [field: string]: unknown
}

/** Writes refusals to the log: each of them at level debug, else as many as LogThrottle lets pass. */
export class RefusalLog {
  readonly #log: Logger
  readonly #throttle = new LogThrottle()

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param about the fields of its line, which a flood of refusals does not pay for */
  write(refusal: AppError, about: () => RefusalFields): void {
    const { status, number, cause } = refusal
    if (this.#log.levelVal > DEBUG && this.#throttle.isSpent(number)) return
    const fields = about()
    const suppressed = this.#log.levelVal <= DEBUG ? 0 : this.#throttle.admit(number, fields.address)
    if (suppressed === undefined) return
    const all = { ...fields, status, error: number, ...(suppressed > 0 ? { suppressed } : {}) }
    const message = cutShort(refusal.message, LONGEST_MESSAGE)
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }
}

/** Without the query, which is the client's data. */
export const loggedPath = (url = ''): string => cutShort(url.split('?', 1)[0] ?? '', LONGEST_PATH)

const cutShort = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)}…`)
