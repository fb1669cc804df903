import type { Logger } from 'pino'
import type { AppError } from '../../domain/errors.ts'
import { LogThrottle } from './log-throttle.ts'

/** Pino's number of the level debug. The level may change while the service runs. */
export const DEBUG = 20
/** Characters of a message in the log. */
const MAX_MESSAGE = 400
/** Characters of a path in the log and in spans. */
const MAX_PATH = 200

export interface RefusalFields {
  readonly address: string
  readonly [field: string]: unknown
}

/** Writes refusals to the log: all of them at level debug, else those that LogThrottle admits. */
export class RefusalLog {
  readonly #log: Logger
  readonly #throttle = new LogThrottle()

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param about makes the fields of the line. LogThrottle may drop the line without a call */
  write(refusal: AppError, about: () => RefusalFields): void {
    const { status, number, cause } = refusal
    if (this.#log.levelVal > DEBUG && this.#throttle.isSpent(number)) return
    const fields = about()
    const suppressed = this.#log.levelVal <= DEBUG ? 0 : this.#throttle.admit(number, fields.address)
    if (suppressed === undefined) return
    const all = { ...fields, status, error: number, ...(suppressed > 0 ? { suppressed } : {}) }
    const message = cutShort(refusal.message, MAX_MESSAGE)
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }
}

/** The path of a URL, cut short, without the query, which may hold data of the client. */
export const loggedPath = (url = ''): string => cutShort(url.split('?', 1)[0] ?? '', MAX_PATH)

const cutShort = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`)
