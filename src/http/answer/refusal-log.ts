import type { Logger } from 'pino'
import { Windows } from '../../base/counts.ts'
import { addressGroup } from '../../base/network.ts'
import type { AppError } from '../../domain/errors.ts'

/** Pino's number of the level debug. The level may change while the service runs. */
export const DEBUG = 20
/** Lines per WINDOW about one error number, and of those about one address. */
const MAX_LINES = 20
const MAX_LINES_PER_ADDRESS = 5
/** Milliseconds. */
const WINDOW = 1000
/** Characters of a message in the log. */
const MAX_MESSAGE = 400

interface RefusalFields {
  readonly address: string
  readonly [field: string]: unknown
}

/**
 * Writes refusals to the log: all of them at level debug, else a few per second of each error number, and fewer of each
 * address. The next line about the same number has the number of suppressed lines.
 */
export class RefusalLog {
  /** All refusals by their numbers, also those that no client gets. */
  readonly counts = new Map<number, number>()
  readonly #log: Logger
  readonly #lines = new Windows(WINDOW)

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param about makes the fields of the line; not called once a second has all its lines of the number */
  write(refusal: AppError, about: () => RefusalFields): void {
    const { status, number, cause } = refusal
    this.counts.set(number, (this.counts.get(number) ?? 0) + 1)
    const fields = this.#log.levelVal <= DEBUG ? about() : this.#admitted(number, about)
    if (fields === undefined) return
    const all = { ...fields, status, error: number }
    const message = cutShort(refusal.message, MAX_MESSAGE)
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }

  #admitted(error: number, about: () => RefusalFields): object | undefined {
    const lines = this.#lines.of(String(error))
    const fields = lines.count < MAX_LINES ? about() : undefined
    const ofAddress = fields && this.#lines.of(`${error} ${addressGroup(fields.address)}`)
    if (ofAddress === undefined || ofAddress.count >= MAX_LINES_PER_ADDRESS) {
      lines.omitted++
      return undefined
    }
    lines.count++
    ofAddress.count++
    const suppressed = lines.omitted
    lines.omitted = 0
    return suppressed > 0 ? { ...fields, suppressed } : fields
  }
}

export const cutShort = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`)
