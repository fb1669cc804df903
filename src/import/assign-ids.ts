import { createHash, hash } from 'node:crypto'
import { isTurnOver, nextTurn } from '../base/time-slice.ts'
import { AppError } from '../domain/errors.ts'
import { type IdRange, MAX_PROPOSED } from '../domain/id-store.ts'
import { type ImportedPlant, plantJson, textLength } from '../domain/plant.ts'
import { ALL_PLANTS } from '../domain/plant-query.ts'
import type { Store } from '../domain/store.ts'
import type { Actor } from '../domain/token.ts'
import { BATCH_ROWS, type Batch, type RefusedRow } from './batch.ts'
import { DuplicateFinder } from './duplicates.ts'
import type { AssignedIds } from './run-import.ts'
import { type StoredPlants, storedPlants } from './stored-plants.ts'

/**
 * The most rows of a group, and UTF-16 units of the texts of its plants. The store is read once for each group of
 * more than a few, as no index has names and tags as they are.
 */
const GROUP_ROWS = 50_000
const GROUP_TEXT = 2 ** 23

interface RowOfFile {
  readonly line: number
  readonly plant: ImportedPlant | undefined
  readonly refused: RefusedRow | undefined
}

interface Assignment {
  readonly actor: Actor
  /**
   * The Idempotency-Key of the request. With it, each row has the same id in each attempt. Without it, an attempt with the
   * same rows goes on with the ids of the one before, unless what was stored before has changed meanwhile.
   */
  readonly key?: string | undefined
  /** Whether to reserve nothing, as nothing is stored. */
  readonly dryRun: boolean
  /** `assign` by default. */
  readonly ids?: AssignedIds | undefined
  /** Whether a dry run finds itself the rows to leave out, and lists them. */
  readonly duplicates?: boolean
}

/** Rows in consecutive lines with consecutive ids. */
export interface AssignedRows {
  /** The line of the first of them. */
  readonly line: number
  /** The id of the plant in that line. */
  readonly id: bigint
  rows: number
}

/** The most runs that are kept. Rows that nothing interrupts are one run in GROUP_ROWS. */
const MOST_RUNS = 50_000

/** Yields batches, and adds the ids of their rows to `runs`. */
export async function* noted(batches: AsyncIterable<Batch>, runs: AssignedRows[]): AsyncGenerator<Batch, void> {
  for await (const batch of batches) {
    for (const [i, { id }] of batch.plants.entries()) {
      const line = batch.lines[i] ?? 0
      const last = runs.at(-1)
      if (last !== undefined && last.line + last.rows === line && last.id + BigInt(last.rows) === id) last.rows += 1
      else if (runs.length < MOST_RUNS) runs.push({ line, id, rows: 1 })
    }
    yield batch
  }
}

/**
 * Assigns an id to each plant of a file without ids, and leaves out those whose name and tag a plant has that was stored
 * before the import: they count as unchanged. Of equal rows each adds a plant, or none does.
 *
 * @throws AppError 40905 when there is no free range of ids, 40902 when the key belongs to an import of other rows
 */
export async function* withIds(
  store: Store,
  batches: AsyncIterable<Batch>,
  assignment: Assignment,
  signal?: AbortSignal,
): AsyncGenerator<Batch, void> {
  const assigner = new IdAssigner(store, assignment, signal)
  let group: RowOfFile[] = []
  let text = 0
  for await (const batch of batches) {
    for (const row of rowsOf(batch)) {
      group.push(row)
      if (row.plant !== undefined) text += textLength(row.plant)
      if (group.length < GROUP_ROWS && text < GROUP_TEXT) continue
      yield* assigner.batches(group)
      group = []
      text = 0
    }
  }
  yield* assigner.batches(group)
}

function rowsOf({ plants, lines, refused }: Batch): RowOfFile[] {
  const readable = plants.map((plant, i) => ({ line: lines[i] ?? 0, plant, refused: undefined }))
  if (refused.length === 0) return readable
  const others = refused.map((row) => ({ line: row.line, plant: undefined, refused: row }))
  return [...readable, ...others].sort((a, b) => a.line - b.line)
}

interface Divided {
  readonly stored: ReadonlySet<ImportedPlant>
  /** The others, which get ids. */
  readonly added: readonly ImportedPlant[]
}

class IdAssigner {
  readonly #store: Store
  readonly #assignment: Assignment
  readonly #signal: AbortSignal | undefined
  /** The ranges of the import so far. */
  readonly #own: IdRange[] = []
  #isLater = false
  /** SHA-256 of the plants of the import so far. */
  #content: Buffer = Buffer.alloc(0)

  constructor(store: Store, assignment: Assignment, signal: AbortSignal | undefined) {
    this.#store = store
    this.#assignment = assignment
    this.#signal = signal
  }

  async *batches(group: readonly RowOfFile[]): AsyncGenerator<Batch, void> {
    const plants = group.flatMap(({ plant }) => plant ?? [])
    const { dryRun, key } = this.#assignment
    const isKeyed = key !== undefined && !dryRun && plants.length > 0
    // Whichever rows are left out in this attempt, each has its own place in the range of all of them.
    const content = plants.length === 0 ? undefined : await this.#contentWith(plants)
    if (isKeyed) await this.#reserve(plants.length, key, content)
    const { stored, added } = isKeyed ? await this.#divided(plants) : await this.#continued(plants, content)
    const first = this.#own.at(-1)?.first ?? 0n
    const ids = new Map((isKeyed ? plants : added).map((plant, i) => [plant, first + BigInt(i)]))
    for (let at = 0; at < group.length; at += BATCH_ROWS) {
      const rows = group.slice(at, at + BATCH_ROWS)
      const numbered = rows.flatMap(({ line, plant }) => {
        const id = plant === undefined || stored.has(plant) ? undefined : ids.get(plant)
        return plant === undefined || id === undefined ? [] : [{ line, plant: { ...plant, id } }]
      })
      yield {
        plants: numbered.map(({ plant }) => plant),
        lines: numbered.map(({ line }) => line),
        refused: rows.flatMap(({ refused }) => refused ?? []),
        stored: rows.flatMap(({ line, plant }) => (plant !== undefined && stored.has(plant) ? line : [])),
      }
    }
  }

  get #takesAll(): boolean {
    const { ids, duplicates } = this.#assignment
    return ids === 'assignAll' || duplicates === true
  }

  async #divided(plants: readonly ImportedPlant[]): Promise<Divided> {
    if (this.#takesAll) return { stored: new Set(), added: plants }
    const stored = await this.#storedOf(plants)
    return { stored, added: plants.filter((plant) => !stored.has(plant)) }
  }

  /** Divides the plants as an earlier attempt with the same rows has done, if there was one, and else reserves ids. */
  async #continued(plants: readonly ImportedPlant[], content: Buffer | undefined): Promise<Divided> {
    const key = content?.toString('hex')
    // A dry run that takes all rows says what a new key would do.
    const isNew = this.#takesAll && this.#assignment.dryRun
    for (let earlier = isNew ? undefined : await this.#range(0, key, content); ; ) {
      if (earlier !== undefined) this.#own.push(earlier)
      const divided = await this.#divided(plants)
      const count = divided.added.length
      if (earlier !== undefined) {
        if (count === lengthOf(earlier)) return divided
        // Something else has stored or removed such plants since, so the ids of that attempt are other rows'.
        this.#own.pop()
        const again = await this.#divided(plants)
        if (again.added.length > 0) await this.#reserve(again.added.length)
        return again
      }
      if (count === 0) return divided
      const range = await this.#range(count, key, content)
      if (range !== undefined && lengthOf(range) !== count) earlier = range
      else {
        this.#add(range)
        return divided
      }
    }
  }

  /** The plants whose name and tag a stored one has that is not of this import. */
  async #storedOf(plants: readonly ImportedPlant[]): Promise<ReadonlySet<ImportedPlant>> {
    const [own, store, signal] = [this.#own, this.#store, this.#signal]
    const stored = storedPlants(store, () => store.exportPlants(ALL_PLANTS, 'id', signal), signal)
    // The index may be far behind the groups before.
    const isFirst = !this.#isLater
    this.#isLater = true
    const others: StoredPlants = async function* (names) {
      for await (const page of stored(isFirst ? names : undefined)) {
        yield page.filter(({ id }) => !own.some(({ first, last }) => first <= id && id <= last))
      }
    }
    const finder = new DuplicateFinder(others)
    for await (const [part, at] of partsOf(plants)) {
      await finder.add(
        { plants: part, lines: part.map((_, i) => at + i), refused: [] },
        part.map(() => 'added'),
      )
    }
    const { duplicateRows } = await finder.end()
    return new Set(duplicateRows.flatMap(({ line }) => plants[line] ?? []))
  }

  async #contentWith(plants: readonly ImportedPlant[]): Promise<Buffer> {
    const content = createHash('sha256').update(this.#content)
    for await (const [part] of partsOf(plants)) content.update(part.map(plantJson).join('\n'))
    this.#content = content.digest()
    return this.#content
  }

  async #reserve(count: number, key?: string, content?: Buffer): Promise<void> {
    this.#add(await this.#range(count, key, content))
  }

  #add(range: IdRange | undefined): void {
    if (range === undefined) {
      throw new AppError(40905, `the ids up to ${MAX_PROPOSED} have no free range after those in use`)
    }
    this.#own.push(range)
  }

  /** Reserves a range, or finds that of an earlier attempt. @param count 0 reserves none */
  async #range(count: number, key?: string, content?: Buffer): Promise<IdRange | undefined> {
    const { dryRun, actor } = this.#assignment
    if (dryRun && count > 0) return this.#proposed(count)
    const text = key === undefined ? undefined : `${actor.id}\n${key}\nimport ${this.#own.length}`
    const hashed = text === undefined ? undefined : hash('sha256', text, 'buffer')
    const range = await this.#store.ids.reserveIds(count, hashed, actor, content)
    if (range === 'other content') throw new AppError(40902, 'the Idempotency-Key belongs to an import of other rows')
    return range
  }

  /** A range that a dry run may use without a reservation. */
  async #proposed(count: number): Promise<IdRange | undefined> {
    const before = this.#own.at(-1)?.last
    const first = before === undefined ? await this.#store.ids.proposeId() : before + 1n
    return first === undefined ? undefined : { first, last: first + BigInt(count) - 1n }
  }
}

const lengthOf = ({ first, last }: IdRange): number => Number(last - first) + 1

/** Divides plants into parts, each with the place of its first one, and lets other work have its turn between them. */
async function* partsOf(
  plants: readonly ImportedPlant[],
): AsyncGenerator<readonly [part: readonly ImportedPlant[], at: number], void> {
  for (let at = 0; at < plants.length; at += BATCH_ROWS) {
    yield [plants.slice(at, at + BATCH_ROWS), at]
    if (isTurnOver()) await nextTurn()
  }
}
