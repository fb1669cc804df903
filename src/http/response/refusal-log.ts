import type { Logger } from 'pino'
import type { AppError } from '../../errors.ts'
import { LogThrottle } from './log-throttle.ts'

/** The number of the level debug. The level may change while the service runs. */
export const DEBUG = 20
/** Characters of a message that a line of the log holds. */
const LONGEST_MESSAGE = 400

/** Writes refusals to the log: each of them at level debug, else as many as LogThrottle lets pass. */
export class RefusalLog {
  readonly #log: Logger
  readonly #throttle = new LogThrottle()

  constructor(log: Logger) {
    this.#log = log
  }

  write(refusal: AppError, fields: { readonly address: string; readonly [field: string]: unknown }): void {
    const { status, number, cause } = refusal
    const suppressed = this.#log.levelVal <= DEBUG ? 0 : this.#throttle.admit(number, fields.address)
    if (suppressed === undefined) return
    const all = { ...fields, status, error: number, ...(suppressed > 0 ? { suppressed } : {}) }
    const message = cutShort(refusal.message, LONGEST_MESSAGE)
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }
}

export const cutShort = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)}…`)
