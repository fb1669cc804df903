import { hash } from 'node:crypto'
import { OperatorError } from '../base/operator-error.ts'
import { count, counted } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { faultOf, type NewPlant } from '../domain/plant.ts'
import type { Store } from '../domain/store.ts'
import { commandActor } from '../domain/token.ts'
import { type Config, SETTINGS, type StoreAddress, shownStore } from '../settings/config.ts'
import type { Flags } from './command.ts'
import { CommandAudit } from './log.ts'
import { withStore } from './open-store.ts'
import { note, type Progress, type ProgressState, printJson, withProgress } from './output.ts'

export interface CopyFlags extends Flags {
  readonly from?: string
  readonly to?: string
  readonly tokens: boolean
}

/** Maximum number of refused plants and tokens that the command names one by one. */
const LISTED_REFUSALS = 1000
const ACTOR = commandActor('copy')
const CONTINUE_HINT = 'Run the same command again to continue: plants that are already stored count as unchanged.'

/** Copies all plants, tokens and reserved ids of a store to another store, and compares the plants of both at the end. */
export async function copyStore(flags: CopyFlags, config: Config, environment: NodeJS.ProcessEnv): Promise<void> {
  const [from, to] = addresses(flags, environment)
  const stores = { from: shownStore(from), to: shownStore(to) }
  if (stores.from === stores.to) throw new OperatorError('--from and --to are the same store', { exitCode: 2 })
  using audit = new CommandAudit(config.auditLog, [from, to], ACTOR)
  await withStore(from, { create: false }, (source) =>
    withStore(to, { create: true, quiet: flags.quiet === true }, async (target) => {
      const copy = new Copy(source, target)
      const broken = () => [...(copy.copied.count > 0 ? [`interrupted: ${copy}`] : []), CONTINUE_HINT]
      await audit.around(
        'copyStore',
        () => ({ ...stores, ...copy.counts }),
        'copied',
        async () => {
          await withProgress(
            () => copy.state,
            flags,
            (progress, stop) => copy.run(flags, progress, stop),
            broken,
          )
          if (copy.hasDifferences) throw differenceOf(copy, stores)
        },
      )
      const { copied, counts } = copy
      if (flags.json) printJson({ ...stores, plants: copied.count, checksum: String(copied), ...counts })
      else if (!flags.quiet) note(`done: ${copy}; checksum ${copied}`)
    }),
  )
}

/** @throws OperatorError (exit code 2) that names all faults of both addresses */
function addresses({ from, to }: CopyFlags, environment: NodeJS.ProcessEnv): readonly [StoreAddress, StoreAddress] {
  const faults: string[] = []
  const read = (flag: string, text: string | undefined): StoreAddress | undefined => {
    try {
      if (text === undefined) throw new Error('is missing; give the address of a store, such as sqlite:data/plants.db')
      return SETTINGS.store.parse(text, environment, 'client')
    } catch (error) {
      faults.push(`--${flag}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const [source, target] = [read('from', from), read('to', to)]
  if (source !== undefined && target !== undefined) return [source, target]
  throw new OperatorError(faults.join('\n'), { exitCode: 2 })
}

/** The error for different stores. A second run would not help, as a copy never changes plants of its target. */
const differenceOf = (copy: Copy, { from, to }: { from: string; to: string }): OperatorError =>
  new OperatorError(
    `the stores differ: ${from} has ${counted(copy.copied.count, 'plant')} with the checksum ${copy.copied}, ${to} has ${count(copy.found.count)} with ${copy.found} (${copy}). A copy neither overwrites nor deletes plants; copy into a new store while no client writes`,
  )

class Copy {
  readonly copied = new Digest()
  readonly found = new Digest()
  readonly counts = { added: 0, unchanged: 0, refused: 0, tokens: 0, revoked: 0 }
  readonly #source: Store
  readonly #target: Store
  #isComparing = false
  /** The number of plants to copy; undefined until it is known. */
  #total: number | undefined

  constructor(source: Store, target: Store) {
    this.#source = source
    this.#target = target
  }

  get state(): ProgressState {
    const [doing, { count: rows }, total] = this.#isComparing
      ? ['comparing', this.found, this.copied.count]
      : ['copying', this.copied, this.#total]
    return { doing, rows, done: total === undefined ? undefined : Math.min(1, rows / Math.max(1, total)) }
  }

  get hasDifferences(): boolean {
    const { counts, copied, found } = this
    return counts.refused > 0 || found.count !== copied.count || String(found) !== String(copied)
  }

  async run({ tokens, quiet }: CopyFlags, progress: Progress, stop: AbortSignal): Promise<void> {
    const refuse = (text: string) => {
      if (++this.counts.refused <= LISTED_REFUSALS) progress.note(text)
    }
    try {
      if (!quiet) this.#countPlants()
      for await (const plants of allPlants(this.#source, stop)) await this.#copyPlants(plants, refuse)
      await this.#target.afterImport()
      if (tokens) await this.#copyTokens(stop, refuse)
      // The target then hands out no reserved id.
      for (const reservation of await this.#source.ids.exportReservations()) {
        stop.throwIfAborted()
        await this.#target.ids.addReservation(reservation)
      }
      // The digests differ if a client has written to either store during the copy.
      this.#isComparing = true
      for await (const plants of allPlants(this.#target, stop)) for (const plant of plants) this.found.add(plant)
    } catch (error) {
      throw error instanceof AppError ? new OperatorError(error.message, { cause: error }) : error
    }
  }

  /** Counts the plants in the background, for the progress. The copy does not need the number. */
  #countPlants(): void {
    const set = (plants: number) => {
      this.#total = plants
    }
    this.#source.countPlants().then(set, () => {})
  }

  async #copyPlants(plants: readonly NewPlant[], refuse: (text: string) => void): Promise<void> {
    const refused = (plant: NewPlant, { number, message }: AppError) =>
      refuse(`plant ${plant.id}: error ${number}, ${message}`)
    const valid = plants.filter((plant) => {
      this.copied.add(plant)
      const fault = faultOf(plant)
      if (fault !== undefined) refused(plant, fault)
      return fault === undefined
    })
    const results = await this.#target.importPlants(valid, 'add', ACTOR)
    for (const [i, plant] of valid.entries()) {
      const result = results[i]
      if (result instanceof AppError) refused(plant, result)
      else if (result === 'unchanged') this.counts.unchanged++
      else this.counts.added++
    }
  }

  async #copyTokens(stop: AbortSignal, refuse: (text: string) => void): Promise<void> {
    const there = new Map((await this.#target.tokens.exportTokens()).map((kept) => [kept.token.id, kept]))
    for (const { token, hash } of await this.#source.tokens.exportTokens()) {
      stop.throwIfAborted()
      const known = there.get(token.id)
      if (known === undefined) {
        await this.#target.tokens.createToken(token, hash)
        this.counts.tokens++
      } else if (!known.hash.equals(hash)) {
        refuse(`token ${token.id}: the id belongs to a different token; nothing was changed`)
      } else if (token.revokedAt !== undefined && known.token.revokedAt === undefined) {
        // The token was revoked after it was copied, so the copy revokes it too.
        await this.#target.tokens.revokeToken(token.id)
        this.counts.revoked++
      }
    }
  }

  toString(): string {
    const { added, unchanged, refused, tokens, revoked } = this.counts
    const parts = [`${counted(added, 'plant')} added`, `${count(unchanged)} unchanged`, `${count(refused)} refused`]
    parts.push(`${counted(tokens, 'token')} added`)
    if (revoked > 0) parts.push(`${counted(revoked, 'token')} revoked`)
    return parts.join(', ')
  }
}

async function* allPlants(store: Store, stop: AbortSignal): AsyncGenerator<readonly NewPlant[], void> {
  for await (const plants of store.exportPlants({ tags: [], words: [] }, 'id')) {
    stop.throwIfAborted()
    yield plants
  }
}

const MODULUS = 2n ** 128n

/** The digest of a set of plants, whatever their order: their number, and the sum of their hashes. */
class Digest {
  count = 0
  #sum = 0n

  add({ id, name, tag }: NewPlant): void {
    // JSON distinguishes an absent tag from an empty one, and any two different plants.
    const text = JSON.stringify([String(id), name, tag ?? null])
    this.count++
    this.#sum = (this.#sum + BigInt(`0x${hash('sha256', text).slice(0, 32)}`)) % MODULUS
  }

  toString(): string {
    return this.#sum.toString(16).padStart(32, '0')
  }
}
