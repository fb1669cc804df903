import type { Logger } from 'pino'
import type { AppError } from '../../domain/errors.ts'
import { addressGroup } from '../../settings/network.ts'

/** Pino's number of the level debug. The level may change while the service runs. */
export const DEBUG = 20
/** Lines per WINDOW about one error number, and of those about one address. */
const MAX_LINES = 20
const MAX_LINES_PER_ADDRESS = 5
/** Milliseconds. */
const WINDOW = 1000
/** Characters of a message in the log. */
const MAX_MESSAGE = 400
/** Characters of a path in the log. */
const MAX_PATH = 200

export interface RefusalFields {
  readonly address: string
  readonly [field: string]: unknown
}

/** The lines about one error number in one WINDOW. */
interface Count {
  readonly ends: number
  lines: number
  /** At most MAX_LINES entries. */
  readonly byAddress: Map<string, number>
  /** Refusals without a line since the last line. */
  suppressed: number
}

/**
 * Writes refusals to the log: all of them at level debug, else a few per second of each error number, and fewer of each
 * address. The next line about the same number has the number of suppressed lines.
 */
export class RefusalLog {
  readonly #log: Logger
  readonly #counts = new Map<number, Count>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param about makes the fields of the line; not called once a second has all its lines of the number */
  write(refusal: AppError, about: () => RefusalFields): void {
    const { status, number, cause } = refusal
    const fields = this.#log.levelVal <= DEBUG ? about() : this.#admitted(number, about)
    if (fields === undefined) return
    const all = { ...fields, status, error: number }
    const message = cutShort(refusal.message, MAX_MESSAGE)
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }

  #admitted(error: number, about: () => RefusalFields): object | undefined {
    const count = this.#countOf(error)
    const fields = count.lines < MAX_LINES ? about() : undefined
    if (fields === undefined || !takesLine(count, addressGroup(fields.address))) {
      count.suppressed++
      return undefined
    }
    const { suppressed } = count
    count.suppressed = 0
    return suppressed > 0 ? { ...fields, suppressed } : fields
  }

  #countOf(error: number): Count {
    const now = performance.now()
    let count = this.#counts.get(error)
    if (count === undefined || now >= count.ends) {
      count = { ends: now + WINDOW, lines: 0, byAddress: new Map(), suppressed: count?.suppressed ?? 0 }
      this.#counts.set(error, count)
    }
    return count
  }
}

/** Takes a line for an address, or returns false if the address has had all its lines. */
function takesLine(count: Count, address: string): boolean {
  const before = count.byAddress.get(address) ?? 0
  if (before >= MAX_LINES_PER_ADDRESS) return false
  count.byAddress.set(address, before + 1)
  count.lines++
  return true
}

/** The path of a URL, cut short, without the query, which may hold data of the client. */
export const loggedPath = (url = ''): string => cutShort(url.split('?', 1)[0] ?? '', MAX_PATH)

const cutShort = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`)
