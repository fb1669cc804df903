import { Windows } from '../../base/counts.ts'
import { addressGroup, type ClientAddresses } from '../../base/network.ts'
import { AppError } from '../../domain/errors.ts'
import type { Actor } from '../../domain/token.ts'
import type { Exchange } from '../request/exchange.ts'

/**
 * Milliseconds. Within them, all refusals of one operation to one token with one number get a single line, and so do all
 * uses of one revoked token by one address: else a token without rights could fill the disk.
 */
const GATHER_INTERVAL = 60_000
/** Refusals under load, which get no line: nothing was done, and a client that retries gets many of them. */
const LOAD_REFUSALS: readonly number[] = [42901, 50302, 50303, 50304]

/** Writes the changes by requests, and their refusals, to the audit log. */
export class AuditTrail {
  readonly #log: AuditLog
  readonly #addresses: ClientAddresses
  readonly #requestIdOf: (exchange: Exchange) => string
  readonly #gathered = new Windows(GATHER_INTERVAL)

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
    const { change, operation, identity, revoked } = exchange
    if (revoked !== undefined) this.#revokedUse(exchange, revoked)
    if (identity === undefined || operation === undefined || operation.method === 'GET') return
    const number = error instanceof AppError ? error.number : undefined
    if (change?.isGradual === true) this.#write(exchange, 'broken off', number)
    else if (number === undefined) {
      // A request whose client left before its work began changes nothing.
      if (!exchange.isOver) this.#write(exchange, 'unknown', 50001)
    } else if (number === 50301) this.#write(exchange, 'unknown', number)
    else if (!LOAD_REFUSALS.includes(number)) {
      const by = exchange.take === undefined ? '' : ' agent'
      this.#gather(`${identity.actor.id} ${operation.id} ${number}${by}`, (omitted) =>
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
      isAgent: exchange.take !== undefined,
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
    const lines = this.#gathered.of(key)
    if (lines.count++ > 0) {
      lines.omitted++
      return
    }
    const { omitted } = lines
    lines.omitted = 0
    write(omitted === 0 ? undefined : { omitted })
  }

  #addressOf({ request }: Exchange): string {
    return this.#addresses.of(request.socket.remoteAddress, request.headers)
  }
}

/** An action and its actor. An entry never holds a secret, nor the name or tag of a plant. */
interface AuditEntry {
  /** An operation of the contract, or the action of a command. */
  readonly operation: string
  /** The result, such as `created`, `refused`, or `unknown` where the action may or may not have been done. */
  readonly outcome: string
  readonly actor: Actor
  /** Whether an agent acted, by a tool. */
  readonly isAgent?: boolean
  readonly plant?: string | undefined
  readonly error?: number | undefined
  readonly details?: object | undefined
  /** The address of the client; absent for a command. */
  readonly address?: string
  /** The id of the request, which is safe in JSON. */
  readonly request?: string
  readonly user?: string
}

/** Takes lines of JSON with a line feed. `write` never waits, fails or throws. */
interface Lines {
  write(line: string): void
}

interface Who {
  readonly actor: Actor
  readonly address: string | undefined
  readonly text: string
}

/**
 * Writes entries as lines of JSON, in the terms of the service's log.
 *
 * Concatenates the JSON itself, and the parts that consecutive lines share only once, because every create writes a
 * line.
 */
export class AuditLog {
  readonly #lines: Lines
  readonly #isOn: () => boolean
  /** The members that the last line has about its actor, who stays the same object while the token is cached. */
  #who: Who | undefined
  #time = Number.NaN
  #head = ''

  /** @param isOn returns false while nobody takes the lines, so that callers need not make them */
  constructor(lines: Lines, isOn: () => boolean = () => true) {
    this.#lines = lines
    this.#isOn = isOn
  }

  get isOn(): boolean {
    return this.#isOn()
  }

  /** The id of a plant is a string, because many programs that collect logs round large numbers. */
  write({
    operation,
    outcome,
    actor,
    isAgent = false,
    plant,
    error,
    details,
    address,
    request,
    user,
  }: AuditEntry): void {
    let line = `${this.#headAt(Date.now())}"${operation}","outcome":"${outcome}"`
    if (isAgent) line += ',"by":"agent"'
    if (plant !== undefined) line += `,"plant":"${plant}"`
    if (error !== undefined) line += `,"error":${error}`
    if (details !== undefined) line += membersOf(details)
    line += this.#textOf(actor, address)
    if (request !== undefined) line += `,"req":"${request}"`
    if (user !== undefined) line += `,"user":${JSON.stringify(user)}`
    this.#lines.write(`${line}}\n`)
  }

  #headAt(time: number): string {
    if (time !== this.#time) {
      this.#time = time
      this.#head = `{"level":30,"time":"${new Date(time).toISOString()}","msg":"audit","operation":`
    }
    return this.#head
  }

  #textOf(actor: Actor, address: string | undefined): string {
    if (this.#who?.actor !== actor || this.#who.address !== address) {
      const { id, name } = actor
      this.#who = { actor, address, text: membersOf({ token: id, tokenName: name, address }) }
    }
    return this.#who.text
  }
}

function membersOf(details: object): string {
  const members = JSON.stringify(details).slice(1, -1)
  return members === '' ? '' : `,${members}`
}

export const NO_AUDIT = new AuditLog({ write: () => {} }, () => false)
