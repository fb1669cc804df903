import { createHash } from 'node:crypto'
import { OperatorError } from '../base/operator-error.ts'
import { count, counted } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import type { ImportResult, NewPlant } from '../domain/plant.ts'
import type { Store } from '../domain/store.ts'
import { commandActor } from '../domain/token.ts'
import { type Config, type StoreAddress, shownStore } from '../settings/config.ts'
import { CommandAudit } from './log.ts'
import { withStore } from './open-store.ts'
import { Progress, type ProgressState } from './progress.ts'
import { abortOnSignal, Stopped } from './signals.ts'

export interface CopyFlags {
  readonly from: StoreAddress
  readonly to: StoreAddress
  /** Whether tokens are copied too. */
  readonly tokens: boolean
  readonly quiet: boolean
  readonly json: boolean
  readonly auditLog: Config['auditLog']
}

/** Maximum number of refused plants and tokens that the command names one by one. */
const LISTED_REFUSALS = 1000
const ACTOR = commandActor('copy')

/**
 * Copies all plants, tokens and reserved ids of a store to another store, and compares the plants of both at the end.
 *
 * @returns the exit code
 * @throws OperatorError when the copy can't begin, breaks off, or the stores differ
 */
export async function copyStore(flags: CopyFlags): Promise<number> {
  const { from, to } = flags
  if (shownStore(from) === shownStore(to))
    throw new OperatorError('--from and --to are the same store', { exitCode: 2 })
  const stop = abortOnSignal()
  using audit = new CommandAudit(flags.auditLog, [from, to], ACTOR, 'none')
  let exitCode = 1
  await withStore(from, { create: false }, (source) =>
    withStore(to, { create: true, quiet: flags.quiet }, (target) => {
      const copy = new Copy(flags, source, target, stop)
      const details = () => ({ from: shownStore(from), to: shownStore(to), ...copy.counts })
      return audit.around('copyStore', details, 'copied', async () => {
        exitCode = await copy.run()
        return exitCode === 0
      })
    }),
  )
  return exitCode
}

class Copy {
  readonly #flags: CopyFlags
  readonly #source: Store
  readonly #target: Store
  readonly #stop: AbortSignal
  readonly #copied = new Digest()
  readonly #found = new Digest()
  readonly #counts = { added: 0, unchanged: 0, refused: 0, tokens: 0, revoked: 0 }
  readonly #progress: Progress
  #isComparing = false
  /** The number of plants to copy; undefined until it is known. */
  #total: number | undefined

  constructor(flags: CopyFlags, source: Store, target: Store, stop: AbortSignal) {
    this.#flags = flags
    this.#source = source
    this.#target = target
    this.#stop = stop
    this.#progress = new Progress(() => this.#state(), flags)
  }

  get counts(): object {
    return this.#counts
  }

  async run(): Promise<number> {
    try {
      this.#count()
      await this.#copyPlants()
      if (this.#flags.tokens) await this.#copyTokens()
      await this.#copyReservations()
      this.#isComparing = true
      await this.#compare()
    } catch (error) {
      this.#progress.end()
      if (this.#copied.count > 0) this.#progress.note(`interrupted: ${this.#summary()}`)
      this.#progress.note('Run the same command again to continue: plants that are already stored count as unchanged.')
      if (error instanceof Stopped) return error.exitCode
      throw error instanceof AppError ? new OperatorError(error.message, { cause: error }) : error
    }
    this.#progress.end()
    if (this.#counts.refused > 0 || !this.#found.equals(this.#copied)) throw this.#difference()
    if (this.#flags.json) process.stdout.write(`${JSON.stringify(this.#report(), null, 2)}\n`)
    else if (!this.#flags.quiet) this.#progress.note(`done: ${this.#summary()}; checksum ${this.#copied}`)
    return 0
  }

  /** Counts the plants in the background, for the progress. The copy does not need the number. */
  #count(): void {
    if (this.#flags.quiet) return
    this.#source.countPlants().then(
      (plants) => {
        this.#total = plants
      },
      () => {},
    )
  }

  #state(): ProgressState {
    const [doing, { count: rows }, total] = this.#isComparing
      ? ['comparing', this.#found, this.#copied.count]
      : ['copying', this.#copied, this.#total]
    return { doing, rows, done: total === undefined ? undefined : Math.min(1, rows / Math.max(1, total)) }
  }

  async #copyPlants(): Promise<void> {
    for await (const plants of allPlants(this.#source)) {
      this.#stop.throwIfAborted()
      const results = await this.#target.importPlants(plants, 'add', ACTOR)
      for (const plant of plants) this.#copied.add(plant)
      for (const [i, result] of results.entries()) this.#record(result, `plant ${plants[i]?.id}`)
    }
    await this.#target.afterImport()
  }

  async #copyTokens(): Promise<void> {
    const there = new Map((await this.#target.tokens.exportTokens()).map((kept) => [kept.token.id, kept]))
    for (const { token, hash } of await this.#source.tokens.exportTokens()) {
      this.#stop.throwIfAborted()
      const known = there.get(token.id)
      if (known === undefined) {
        await this.#target.tokens.createToken(token, hash)
        this.#counts.tokens++
      } else if (!known.hash.equals(hash)) {
        this.#refuse(`token ${token.id}: the id belongs to a different token; nothing was changed`)
      } else if (token.revokedAt !== undefined && known.token.revokedAt === undefined) {
        // The token was revoked after it was copied, so the copy revokes it too.
        await this.#target.tokens.revokeToken(token.id)
        this.#counts.revoked++
      }
    }
  }

  /** Copies the reservations of ids, so that the target hands out no reserved id. */
  async #copyReservations(): Promise<void> {
    for (const reservation of await this.#source.ids.exportReservations()) {
      this.#stop.throwIfAborted()
      await this.#target.ids.addReservation(reservation)
    }
  }

  /** Reads the target again. The digests then differ if a client has written to either store during the copy. */
  async #compare(): Promise<void> {
    for await (const plants of allPlants(this.#target)) {
      this.#stop.throwIfAborted()
      for (const plant of plants) this.#found.add(plant)
    }
  }

  /** The error for different stores. A second run would not help, as a copy never changes plants of its target. */
  #difference(): OperatorError {
    const { from, to } = this.#flags
    return new OperatorError(
      `the stores differ: ${shownStore(from)} has ${counted(this.#copied.count, 'plant')} with the checksum ${this.#copied}, ${shownStore(to)} has ${count(this.#found.count)} with ${this.#found} (${this.#summary()}). A copy neither overwrites nor deletes plants; copy into a new store while no client writes`,
    )
  }

  #record(result: ImportResult, what: string): void {
    if (result instanceof AppError) this.#refuse(`${what}: error ${result.number}, ${result.message}`)
    else if (result === 'unchanged') this.#counts.unchanged++
    else this.#counts.added++
  }

  #report(): object {
    const { from, to } = this.#flags
    const stores = { from: shownStore(from), to: shownStore(to) }
    return { ...stores, plants: this.#copied.count, checksum: String(this.#copied), ...this.#counts }
  }

  #refuse(text: string): void {
    this.#counts.refused++
    if (this.#counts.refused <= LISTED_REFUSALS) this.#progress.note(text)
  }

  #summary(): string {
    const { added, unchanged, refused, tokens, revoked } = this.#counts
    const parts = [`${counted(added, 'plant')} added`, `${count(unchanged)} unchanged`, `${count(refused)} refused`]
    parts.push(`${counted(tokens, 'token')} added`)
    if (revoked > 0) parts.push(`${counted(revoked, 'token')} revoked`)
    return parts.join(', ')
  }
}

const MODULUS = 2n ** 128n

/** The digest of a set of plants, whatever their order: their number, and the sum of their hashes. */
export class Digest {
  #count = 0
  #sum = 0n

  add({ id, name, tag }: NewPlant): void {
    // JSON distinguishes an absent tag from an empty one, and any two different plants.
    const text = JSON.stringify([String(id), name, tag ?? null])
    const hash = createHash('sha256').update(text).digest('hex')
    this.#count++
    this.#sum = (this.#sum + BigInt(`0x${hash.slice(0, 32)}`)) % MODULUS
  }

  get count(): number {
    return this.#count
  }

  equals(other: Digest): boolean {
    return this.#count === other.#count && this.#sum === other.#sum
  }

  toString(): string {
    return this.#sum.toString(16).padStart(32, '0')
  }
}

/** Yields all plants of a store, in chunks. */
const allPlants = (store: Store): AsyncIterable<readonly NewPlant[]> =>
  store.exportPlants({ tags: [], words: [] }, 'id')
