import type { Actor } from './actor.ts'

/** Takes the lines of the audit log. `write` never waits, fails or throws. */
export interface AuditSink {
  /** False while the sink drops all lines. */
  readonly isOn: boolean

  /** @param line without a line feed */
  write(line: string): void
}

/** An action and its actor. An entry never holds a secret, nor the name or tag of a plant. */
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
  /** The JSON members of each actor. An actor stays the same object while its token is cached. */
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
   * Concatenates the JSON itself, because every create writes a line. The id of a plant is a string, because many
   * programs that collect logs round large numbers.
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

  /** Caches the last text, because many consecutive changes come from the same address. */
  #address(address: string): string {
    if (address !== this.#lastAddress) {
      this.#lastAddress = address
      this.#lastAddressText = `,"address":${JSON.stringify(address)}`
    }
    return this.#lastAddressText
  }

  /** Caches the last text, because many changes fall into the same millisecond. */
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
