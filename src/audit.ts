import type { Actor } from './actor.ts'

/** The target of the lines of the audit log. A write never waits, fails or throws. */
export interface AuditSink {
  /** Whether it is on. It drops lines while it is off. */
  readonly isOn: boolean

  /** @param line without a line feed */
  write(line: string): void
}

/** An action and its actor. It never holds a secret, or a text of a plant. */
export interface AuditEntry {
  /** An operation of the contract, or the action of a command. */
  readonly operation: string
  /** The result, such as `created`, `refused`, or `unknown` where the action may or may not have been done. */
  readonly outcome: string
  readonly actor: Actor
  readonly plant?: bigint | undefined
  /** The number of a refusal. */
  readonly error?: number | undefined
  /** Further members. */
  readonly details?: object | undefined
  /** The address of the client; absent for a command. */
  readonly address?: string
  /** The id of the request, which is safe in JSON. */
  readonly request?: string
  /** The user who runs a command. */
  readonly user?: string
}

/** Writes entries as lines of JSON, in the terms of the service's log. */
export class AuditLog {
  readonly #sink: AuditSink
  /** An actor stays the same object while its token is cached. */
  readonly #names = new WeakMap<Actor, string>()
  #lastTime = Number.NaN
  #lastTimeText = ''
  #lastAddress = ''
  #lastAddressText = ''

  constructor(sink: AuditSink) {
    this.#sink = sink
  }

  get isOn(): boolean {
    return this.#sink.isOn
  }

  /**
   * Joins the line by hand, as every create pays for it. The id of a plant is a text, because many programs that
   * collect logs round large numbers.
   */
  write({ operation, outcome, actor, plant, error, details, address, request, user }: AuditEntry): void {
    let line = `{"level":30,"time":"${this.#time()}","msg":"audit","operation":"${operation}","outcome":"${outcome}"`
    if (plant !== undefined) line += `,"plant":"${plant}"`
    if (error !== undefined) line += `,"error":${error}`
    if (details !== undefined) line += membersOf(details)
    line += this.#nameOf(actor)
    if (address !== undefined) line += this.#address(address)
    if (request !== undefined) line += `,"req":"${request}"`
    if (user !== undefined) line += `,"user":${JSON.stringify(user)}`
    this.#sink.write(`${line}}`)
  }

  #nameOf(actor: Actor): string {
    let name = this.#names.get(actor)
    if (name === undefined) {
      name = `,"token":${JSON.stringify(actor.id)},"tokenName":${JSON.stringify(actor.name)}`
      this.#names.set(actor, name)
    }
    return name
  }

  /** Many changes in a row come from the same address. */
  #address(address: string): string {
    if (address !== this.#lastAddress) {
      this.#lastAddress = address
      this.#lastAddressText = `,"address":${JSON.stringify(address)}`
    }
    return this.#lastAddressText
  }

  /** Many changes have the same millisecond. */
  #time(): string {
    const now = Date.now()
    if (now !== this.#lastTime) {
      this.#lastTime = now
      this.#lastTimeText = new Date(now).toISOString()
    }
    return this.#lastTimeText
  }
}

function membersOf(details: object): string {
  const members = JSON.stringify(details).slice(1, -1)
  return members === '' ? '' : `,${members}`
}

export const NO_AUDIT = new AuditLog({ isOn: false, write: () => {} })
