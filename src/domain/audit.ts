import type { Actor } from './actor.ts'

/** An action and its actor. An entry never holds a secret, nor the name or tag of a plant. */
export interface AuditEntry {
  /** An operation of the contract, or the action of a command. */
  readonly operation: string
  /** The result, such as `created`, `refused`, or `unknown` where the action may or may not have been done. */
  readonly outcome: string
  readonly actor: Actor
  /** The id of the plant. */
  readonly plant?: string | undefined
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

/** Takes lines of JSON with a line feed. `write` never waits, fails or throws. */
interface Lines {
  write(line: string): void
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
  /** The JSON members of each actor. An actor stays the same object while its token is cached. */
  readonly #names = new WeakMap<Actor, string>()
  #last = { time: Number.NaN, operation: '', outcome: '', text: '' }
  #lastActor: Actor | undefined
  #lastAddress: string | undefined
  #lastWho = ''

  /** @param isOn returns false while nobody takes the lines, so that callers need not make them */
  constructor(lines: Lines, isOn: () => boolean = () => true) {
    this.#lines = lines
    this.#isOn = isOn
  }

  get isOn(): boolean {
    return this.#isOn()
  }

  /** The id of a plant is a string, because many programs that collect logs round large numbers. */
  write({ operation, outcome, actor, plant, error, details, address, request, user }: AuditEntry): void {
    let line = this.#headOf(operation, outcome)
    if (plant !== undefined) line += `,"plant":"${plant}"`
    if (error !== undefined) line += `,"error":${error}`
    if (details !== undefined) line += membersOf(details)
    line += this.#whoOf(actor, address)
    if (request !== undefined) line += `,"req":"${request}"`
    if (user !== undefined) line += `,"user":${JSON.stringify(user)}`
    this.#lines.write(`${line}}\n`)
  }

  #headOf(operation: string, outcome: string): string {
    const time = Date.now()
    const last = this.#last
    if (time === last.time && operation === last.operation && outcome === last.outcome) return last.text
    const now = new Date(time).toISOString()
    const text = `{"level":30,"time":"${now}","msg":"audit","operation":"${operation}","outcome":"${outcome}"`
    this.#last = { time, operation, outcome, text }
    return text
  }

  #whoOf(actor: Actor, address: string | undefined): string {
    if (actor === this.#lastActor && address === this.#lastAddress) return this.#lastWho
    const where = address === undefined ? '' : `,"address":${JSON.stringify(address)}`
    this.#lastActor = actor
    this.#lastAddress = address
    this.#lastWho = this.#nameOf(actor) + where
    return this.#lastWho
  }

  #nameOf(actor: Actor): string {
    let name = this.#names.get(actor)
    if (name === undefined) {
      name = `,"token":${JSON.stringify(actor.id)},"tokenName":${JSON.stringify(actor.name)}`
      this.#names.set(actor, name)
    }
    return name
  }
}

function membersOf(details: object): string {
  const members = JSON.stringify(details).slice(1, -1)
  return members === '' ? '' : `,${members}`
}

export const NO_AUDIT = new AuditLog({ write: () => {} }, () => false)
