import type { Actor } from '../domain/actor.ts'
import type { AuditLog } from '../domain/audit.ts'
import { AppError } from '../domain/errors.ts'
import { addressGroup } from '../settings/network.ts'
import { BoundedMap } from './auth/bounded-map.ts'
import type { ClientAddresses } from './auth/client-address.ts'
import type { Exchange } from './exchange.ts'
import { HttpError } from './response/http-error.ts'

/** The change that a request asks for, as far as its handler knows it yet. */
export interface Change {
  /** The id of the plant. */
  readonly plant?: string
  outcome?: string
  /** Returns further members of the audit line, at the time when the line is written. */
  readonly details?: () => object
  /** Whether a part of the change may be stored when the rest fails. */
  readonly isGradual?: boolean
}

/**
 * Milliseconds. Within them, all refusals of one operation to one token with one number get a single line, and so do all
 * uses of one revoked token by one address: else a token without rights could fill the disk.
 */
const GATHER_INTERVAL = 60_000
const MAX_GATHERED = 10_000
/** Refusals under load, which get no line: nothing was done, and a client that retries gets many of them. */
const LOAD_REFUSALS: readonly number[] = [42901, 50302, 50303, 50304]

/** Writes the changes by requests, and their refusals, to the audit log. */
export class AuditTrail {
  readonly #log: AuditLog
  readonly #addresses: ClientAddresses
  readonly #requestIdOf: (exchange: Exchange) => string
  readonly #gathered = new BoundedMap<string, { readonly until: number; omitted: number }>(MAX_GATHERED)

  constructor(log: AuditLog, addresses: ClientAddresses, requestIdOf: (exchange: Exchange) => string) {
    this.#log = log
    this.#addresses = addresses
    this.#requestIdOf = requestIdOf
  }

  /** Call it with each successful request. */
  answered(exchange: Exchange): void {
    const { change } = exchange
    if (change === undefined || !this.#log.isOn) return
    this.#write(exchange, change.outcome ?? 'done')
  }

  /** Call it with each refused request, and with each request whose client left before its work ended. */
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
    else if (!LOAD_REFUSALS.includes(number)) {
      this.#gather(`${identity.actor.id} ${operation.id} ${number}`, (omitted) =>
        this.#write(exchange, 'refused', number, omitted),
      )
    }
  }

  /** Writes that a gradual change begins, so that the log has a line of it even after a crash. */
  begins(exchange: Exchange): void {
    if (this.#log.isOn) this.#write(exchange, 'began')
  }

  #write(exchange: Exchange, outcome: string, error?: number, omitted?: object): void {
    const { identity, operation, change } = exchange
    if (identity === undefined || operation === undefined) return
    this.#log.write({
      operation: operation.id,
      outcome,
      actor: identity.actor,
      plant: change?.plant,
      error,
      details: omitted === undefined ? change?.details?.() : { ...change?.details?.(), ...omitted },
      address: this.#addressOf(exchange),
      request: this.#requestIdOf(exchange),
    })
  }

  #revokedUse(exchange: Exchange, actor: Actor): void {
    const address = this.#addressOf(exchange)
    this.#gather(`${actor.id} ${addressGroup(address)}`, (details) => {
      const request = this.#requestIdOf(exchange)
      this.#log.write({ operation: 'useRevokedToken', outcome: 'refused', actor, details, address, request })
    })
  }

  /** Calls `write` once in GATHER_INTERVAL for each key, with the number of calls that it has left out before. */
  #gather(key: string, write: (omitted: object | undefined) => void): void {
    const now = performance.now()
    const before = this.#gathered.get(key)
    if (before !== undefined && now < before.until) {
      before.omitted++
      return
    }
    this.#gathered.set(key, { until: now + GATHER_INTERVAL, omitted: 0 })
    write(before === undefined || before.omitted === 0 ? undefined : { omitted: before.omitted })
  }

  #addressOf({ request }: Exchange): string {
    return this.#addresses.of(request.socket.remoteAddress, request.headers)
  }
}
