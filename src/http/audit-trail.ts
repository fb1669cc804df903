import type { Actor } from '../actor.ts'
import type { AuditLog } from '../audit.ts'
import { AppError } from '../errors.ts'
import { addressGroup } from '../network.ts'
import { BoundedMap } from './auth/bounded-map.ts'
import type { ClientAddresses } from './auth/client-address.ts'
import type { Exchange } from './exchange.ts'
import { HttpError } from './response/http-error.ts'

/** The change that a request asks for, as far as it is known. */
export interface Change {
  readonly plant?: bigint
  outcome?: string
  /** Returns further members of the line, at its writing. */
  readonly details?: () => object
  /** Whether parts of it may be done before its end. */
  readonly isGradual?: boolean
}

/** Milliseconds in which uses of one revoked token by one address get a single line. */
const REPEATED = 60_000
const MAX_REVOKED = 10_000
/** Refusals for load. They say nothing about the client, nothing was done, and a client that retries gets many. */
const LOAD: readonly number[] = [42901, 50302, 50303, 50304]

/** Writes the changes by requests, and their refusals, to the audit log. */
export class AuditTrail {
  readonly #log: AuditLog
  readonly #addresses: ClientAddresses
  readonly #requestIdOf: (exchange: Exchange) => string
  readonly #revoked = new BoundedMap<string, { readonly until: number; omitted: number }>(MAX_REVOKED)

  constructor(log: AuditLog, addresses: ClientAddresses, requestIdOf: (exchange: Exchange) => string) {
    this.#log = log
    this.#addresses = addresses
    this.#requestIdOf = requestIdOf
  }

  /** Called with each successful request. */
  answered(exchange: Exchange): void {
    const { change } = exchange
    if (change === undefined || !this.#log.isOn) return
    this.#write(exchange, change.outcome ?? 'done')
  }

  /** Called with each refused request, and with each whose client left before the end of its work. */
  refused(exchange: Exchange, error: unknown): void {
    if (!this.#log.isOn) return
    if (error instanceof HttpError && error.revoked !== undefined) this.#revokedUse(exchange, error.revoked)
    const { change, operation, identity } = exchange
    if (identity === undefined || operation === undefined || operation.method === 'GET') return
    const number = error instanceof AppError ? error.number : undefined
    if (change?.isGradual === true) this.#write(exchange, 'broken off', number)
    else if (number === undefined) {
      // A request whose client left before its work began changes nothing.
      if (!exchange.isOver) this.#write(exchange, 'unknown', 50001)
    } else if (number === 50301) this.#write(exchange, 'unknown', number)
    else if (!LOAD.includes(number)) this.#write(exchange, 'refused', number)
  }

  /** Writes the beginning of a gradual change, so that even a crash leaves a line of it. */
  begins(exchange: Exchange): void {
    if (this.#log.isOn) this.#write(exchange, 'began')
  }

  #write(exchange: Exchange, outcome: string, error?: number): void {
    const { identity, operation, change } = exchange
    if (identity === undefined || operation === undefined) return
    this.#log.write({
      operation: operation.id,
      outcome,
      actor: identity.actor,
      plant: change?.plant,
      error,
      details: change?.details?.(),
      address: this.#addressOf(exchange),
      request: this.#requestIdOf(exchange),
    })
  }

  #revokedUse(exchange: Exchange, actor: Actor): void {
    const address = this.#addressOf(exchange)
    const key = `${actor.id} ${addressGroup(address)}`
    const now = performance.now()
    const before = this.#revoked.get(key)
    if (before !== undefined && now < before.until) {
      before.omitted++
      return
    }
    this.#revoked.set(key, { until: now + REPEATED, omitted: 0 })
    const details = before === undefined || before.omitted === 0 ? undefined : { omitted: before.omitted }
    const request = this.#requestIdOf(exchange)
    this.#log.write({ operation: 'useRevokedToken', outcome: 'refused', actor, details, address, request })
  }

  #addressOf({ request }: Exchange): string {
    return this.#addresses.of(request.socket.remoteAddress, request.headers)
  }
}
