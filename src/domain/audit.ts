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
  write({ operation, outcome, actor, plant, error, details, address, request, user }: AuditEntry): void {
    let line = `${this.#headAt(Date.now())}"${operation}","outcome":"${outcome}"`
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
