import type { AppError } from '../../domain/errors.ts'
import type { Exchange } from '../exchange.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { HttpError } from '../response/http-error.ts'

export interface BodyLimits {
  /** Bytes of the largest body. */
  readonly bodyLimit: number
  /** Bytes of all bodies in memory. */
  readonly bodyMemory: number
}

/** Bytes. A body up to this size does not count, so that nearly every create costs nothing here. */
const MAX_UNCOUNTED = 4096

/** The memory for bodies, from their first bytes until their requests are answered. */
export class BodyMemory {
  readonly bodyLimit: number
  readonly #max: number
  readonly #maxOfToken: number
  readonly #byToken = new Map<string, number>()
  readonly #byExchange = new Map<Exchange, number>()
  #bytes = 0
  #refused = 0

  /** A token may use half of the memory. A single body always has room. */
  constructor({ bodyLimit, bodyMemory }: BodyLimits) {
    this.bodyLimit = bodyLimit
    this.#max = Math.max(bodyMemory, bodyLimit)
    this.#maxOfToken = Math.max(Math.floor(bodyMemory / 2), bodyLimit)
  }

  /** Registers the metrics of the memory. */
  describe(metrics: Metrics): void {
    metrics.value('plantstore_body_bytes', () => this.#bytes)
    metrics.value('plantstore_bodies_refused_total', () => this.#refused)
    metrics.bound('bodyMemory', this.#max, () => this.#bytes)
  }

  /**
   * Takes memory for the body of an exchange, until the exchange ends or releases it.
   *
   * @param bytes the memory that the body needs in total
   * @throws AppError 42901 when the bodies of its token take too much, 50302 when all bodies together do
   */
  grow(exchange: Exchange, bytes: number): void {
    if (bytes <= MAX_UNCOUNTED) return
    const known = this.#byExchange.get(exchange)
    const more = bytes - (known ?? 0)
    const token = tokenOf(exchange)
    const ofToken = (this.#byToken.get(token) ?? 0) + more
    if (ofToken > this.#maxOfToken) {
      throw this.#refuse(42901, 'too many large bodies of this token are under way; send fewer at a time')
    }
    if (this.#bytes + more > this.#max) {
      throw this.#refuse(50302, 'too many large bodies are under way; try again in a second')
    }
    this.#byToken.set(token, ofToken)
    this.#bytes += more
    this.#byExchange.set(exchange, bytes)
    if (known === undefined) exchange.response.once('close', () => this.release(exchange))
  }

  release(exchange: Exchange): void {
    const bytes = this.#byExchange.get(exchange)
    if (bytes === undefined) return
    this.#byExchange.delete(exchange)
    this.#bytes -= bytes
    const token = tokenOf(exchange)
    const left = (this.#byToken.get(token) ?? 0) - bytes
    if (left > 0) this.#byToken.set(token, left)
    else this.#byToken.delete(token)
  }

  #refuse(number: 42901 | 50302, message: string): AppError {
    this.#refused++
    return new HttpError(number, message, { headers: { Connection: 'close' } })
  }
}

const tokenOf = ({ identity }: Exchange): string => identity?.actor.id ?? ''
