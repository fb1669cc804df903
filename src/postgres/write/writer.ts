import { leftPlant, type UndoStep } from '../../domain/actions.ts'
import { AppError } from '../../domain/errors.ts'
import type { Part } from '../../domain/part.ts'
import {
  type ChangeOutcome,
  type CreateResult,
  createResult,
  decideChange,
  decidePut,
  type ImportedPlant,
  type ImportMode,
  type ImportResult,
  idOf,
  importResult,
  isEqual,
  type NewPlant,
  type PlantChange,
  textLength,
} from '../../domain/plant.ts'
import { ALL_PLANTS } from '../../domain/plant-query.ts'
import type { DryRun } from '../../domain/store.ts'
import { type Author, nameActions, namesOf, unlessTaken } from '../changes/action-names.ts'
import { planUndo, UNDONE } from '../changes/actions.ts'
import { type LoggedChange, MAX_ROW_CHANGES, type Swap } from '../changes/log-rows.ts'
import { appErrorOf, isRefusedRecord } from '../errors.ts'
import type { Budget, Run, Statement } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { exported } from '../read/long-reads.ts'
import { selectPlants } from '../read/point-reader.ts'
import { bigintArray, byId, plantOf, textsOf } from '../rows.ts'
import { PlantTable } from './write-plants.ts'

export interface CreateRow extends Author {
  readonly plant: NewPlant
  readonly mustBeNew: boolean
}

export interface ActorChange extends Author {
  readonly change: PlantChange
}

/**
 * Writes plants. Each method resolves after the commit, with one result for each write, in their order. It refuses only
 * the rows that PostgreSQL refuses.
 */
export class PostgresWriter {
  readonly #share: PoolShare
  readonly #longWrites: PoolShare
  readonly #table: PlantTable
  readonly #isLogging: () => boolean

  readonly #onWritten: (plants: number, text: number) => void

  /**
   * @param longWrites the share for long transactions
   * @param isLogging whether writes belong into the log of changes
   * @param onWritten called after writes, with a number of plants and their UTF-16 units
   */
  constructor(
    share: PoolShare,
    longWrites: PoolShare,
    isLogging: () => boolean,
    onWritten: (plants: number, text: number) => void,
    table = new PlantTable(),
  ) {
    this.#share = share
    this.#longWrites = longWrites
    this.#table = table
    this.#isLogging = isLogging
    this.#onWritten = onWritten
  }

  /**
   * Inserts all rows with one statement, and reads the plants of existing ids with a second one. Decides the rows in
   * their order: the second row of an id finds the plant of the first.
   */
  createPlants(rows: readonly CreateRow[], budget: Budget): Promise<(CreateResult | AppError)[]> {
    return this.#written(rows, budget, async (run, some) => {
      const isLogging = this.#isLogging()
      const swaps = new Map<bigint, Swap>()
      for (const { plant, token, action } of some) {
        if (swaps.has(plant.id)) continue
        const changes = isLogging ? [{ before: undefined, after: plant, token, action: action?.id }] : []
        swaps.set(plant.id, { id: plant.id, before: undefined, after: plant, changes })
      }
      const present = await this.#table.put(run ?? this.#share.within(budget), [...swaps.values()])
      this.#wrote(swaps.values())
      return some.map(({ plant, mustBeNew, part }) => {
        const outcome = decidePut(mustBeNew ? 'new' : 'add', plant, present.get(plant.id), part)
        if (outcome === 'created') present.set(plant.id, plant)
        return createResult(outcome, plant.id)
      })
    })
  }

  /**
   * Reads the plants, decides each change, and writes the plants that no other transaction has changed since the read:
   * two round trips, with no lock between them. Locks the other plants, and changes them in one transaction. Writes only
   * the last state of several changes of one plant, and each change to the log.
   */
  changePlants(changes: readonly ActorChange[], budget: Budget): Promise<(ChangeOutcome | AppError)[]> {
    return this.#written(changes, budget, async (run, some) => {
      const results: (ChangeOutcome | AppError)[] = []
      const writes = some.map(changeWrite)
      const rest = await this.#round(run ?? this.#share.within(budget), writes, [...writes.keys()], results)
      if (rest.length === 0) return results
      const finish = (own: Run) => this.#finish(own, writes, rest, results)
      await (run === undefined ? this.#share.transaction('BEGIN', finish, budget) : finish(run))
      return results
    })
  }

  /**
   * Imports plants in one transaction. Locks only the plants that another transaction has changed since the first read,
   * because the lock of a plant that stays unchanged would be a write.
   */
  async importPlants(plants: readonly ImportedPlant[], mode: ImportMode, author: Author): Promise<ImportResult[]> {
    const { refusals, unnamed } = await this.#namesOf(author)
    const [refusal] = refusals.values()
    if (refusal !== undefined) return plants.map(() => refusal)
    return alone(plants, (some) => {
      const writes = some.map((plant) => importWrite(plant, mode, author))
      return this.#longWrites.transaction('BEGIN', async (run) => {
        const results: ImportResult[] = []
        await this.#finish(run, writes, await this.#round(run, writes, [...writes.keys()], results), results)
        await nameActions(run, unnamed)
        return results
      })
    })
  }

  /** Makes one step of an undo (ActionLog.undo) in one transaction. */
  async undo(action: string, from: string | undefined, author: Author): Promise<UndoStep> {
    const { refusals, unnamed } = await this.#namesOf(author)
    const [refusal] = refusals.values()
    if (refusal !== undefined) throw refusal
    return this.#longWrites.transaction('BEGIN', async (run) => {
      const lock = (wanted: readonly { readonly id: bigint }[]) => this.#table.lock(run, wanted)
      const { swaps, reached, restored, left, next } = await planUndo(run, action, from, author, lock)
      const done = await this.#table.swap(run, swaps)
      await nameActions(run, unnamed)
      await run({ name: 'undone', text: UNDONE, values: [author.action?.id, String(reached)] })
      this.#wrote(swaps)
      // Another write has created a plant under such an id, which no lock could keep away.
      const taken = swaps.filter(({ id }) => !done.has(id))
      const there = byId(await selectPlants(run, taken))
      const late = taken.map(({ id }) => leftPlant(id, there.get(id), author.part))
      return { restored: restored - late.length, left: [...left, ...late], next }
    })
  }

  #namesOf(author: Author): ReturnType<typeof namesOf> {
    return namesOf(this.#share.within(this.#share.budget()), this.#isLogging() ? [author] : [])
  }

  /** Writes rows, and refuses alone those that PostgreSQL refuses, and those whose action is another token's. */
  #written<Row extends Author, Result>(
    rows: readonly Row[],
    budget: Budget,
    write: (run: Run | undefined, rows: readonly Row[]) => Promise<Result[]>,
  ): Promise<(Result | AppError)[]> {
    const hasAction = this.#isLogging() && rows.some(({ action }) => action !== undefined)
    if (!hasAction) return alone(rows, (some) => write(undefined, some))
    const transaction = (work: (run: Run) => Promise<Result[]>) => this.#share.transaction('BEGIN', work, budget)
    return alone(rows, (some) => unlessTaken(this.#share.within(budget), transaction, some, write))
  }

  /** Makes writes in a transaction. Several rounds have to wait only for plants that other transactions create. */
  async #finish<Result>(
    run: Run,
    writes: readonly Write<Result>[],
    indexes: readonly number[],
    results: Result[],
  ): Promise<void> {
    const lock = (wanted: readonly { readonly id: bigint }[]) => this.#table.lock(run, wanted)
    for (let rest = indexes; rest.length > 0; ) rest = await this.#round(run, writes, rest, results, lock)
  }

  /** Reads the plants of writes, decides the writes and makes them. @returns those that another round decides */
  async #round<Result>(
    run: Run,
    writes: readonly Write<Result>[],
    indexes: readonly number[],
    results: Result[],
    read = (wanted: readonly { readonly id: bigint }[]) => selectPlants(run, wanted),
  ): Promise<number[]> {
    const present = byId(await read(plantsOf(writes, indexes)))
    const { swaps, later } = decideAll(writes, indexes, present, results, this.#isLogging())
    const done = await this.#table.swap(run, swaps)
    this.#wrote(swaps)
    return indexes.filter((i) => later.has(i) || !done.has((writes[i] as Write<Result>).id))
  }

  #wrote(swaps: Iterable<Swap>): void {
    let plants = 0
    let text = 0
    for (const { after } of swaps) {
      plants++
      text += after === undefined ? 0 : textLength(after)
    }
    this.#onWritten(plants, text)
  }
}

/**
 * Refuses only the row that PostgreSQL refuses: the statement of a group fails as a whole, so each half of the group is
 * tried again. Rows of the service are valid, so this takes a rule that an operator has added to the table.
 */
async function alone<Row, Result>(
  rows: readonly Row[],
  write: (rows: readonly Row[]) => Promise<Result[]>,
): Promise<(Result | AppError)[]> {
  try {
    return await write(rows)
  } catch (error) {
    const refusal = appErrorOf(error)
    if (!isRefusedRecord(refusal)) throw error
    if (rows.length === 1) return [refusal]
    const middle = rows.length >> 1
    return [...(await alone(rows.slice(0, middle), write)), ...(await alone(rows.slice(middle), write))]
  }
}

type Plant = NewPlant | undefined

/** A write of one plant, which depends on the present plant. */
interface Write<Result> extends Author {
  readonly id: bigint
  decide(before: Plant): { readonly result: Result; readonly after: Plant }
}

function changeWrite({ change, token, action, part }: ActorChange): Write<ChangeOutcome | AppError> {
  const decide = (before: Plant) => {
    try {
      const result = decideChange(change, before, part)
      return { result, after: result.result === 'deleted' ? undefined : result.plant }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { result: error, after: before }
    }
  }
  return { id: idOf(change), token, action, decide }
}

function importWrite(plant: ImportedPlant, mode: ImportMode, author: Author): Write<ImportResult> {
  const decide = (before: Plant) => {
    const outcome = decidePut(mode, plant, before, author.part)
    const after = outcome === 'created' || outcome === 'updated' ? plant : before
    return { result: importResult(outcome, plant.id), after: outcome === 'deleted' ? undefined : after }
  }
  return { id: plant.id, ...author, decide }
}

const plantsOf = <Result>(writes: readonly Write<Result>[], indexes: readonly number[]): { readonly id: bigint }[] =>
  Array.from(new Set(indexes.map((i) => (writes[i] as Write<Result>).id)), (id) => ({ id }))

/**
 * Decides writes in their order, given the plants that exist: a later write of a plant finds the plant of an earlier one.
 *
 * @returns `later`: the writes to decide after the swaps are made
 */
function decideAll<Result>(
  writes: readonly Write<Result>[],
  indexes: readonly number[],
  present: ReadonlyMap<bigint, NewPlant>,
  results: Result[],
  isLogging: boolean,
): { swaps: Swap[]; later: Set<number> } {
  const swaps = new Map<
    bigint,
    { id: bigint; before: Plant; after: Plant; changes: LoggedChange[]; isClosed: boolean }
  >()
  const later = new Set<number>()
  for (const i of indexes) {
    const { id, token, action, decide } = writes[i] as Write<Result>
    const known = present.get(id)
    const swap = swaps.get(id) ?? { id, before: known, after: known, changes: [], isClosed: false }
    swaps.set(id, swap)
    const before = swap.after
    const { result, after } = decide(before)
    // The lock of its row gives a change its place in the log, so a created plant has no other change before the commit.
    const isCreated = swap.before === undefined && before !== undefined && !isEqual(before, after)
    const isOther = swap.changes.length > 0 && swap.changes[0]?.action !== action?.id
    if (isLogging && (isCreated || isOther || swap.isClosed || swap.changes.length === MAX_ROW_CHANGES)) {
      swap.isClosed = true
      later.add(i)
      continue
    }
    results[i] = result
    if (isEqual(before, after)) continue
    swap.after = after
    if (!isLogging) continue
    swap.changes.push({ before, after, token, action: action?.id })
  }
  return { swaps: [...swaps.values()], later }
}

/**
 * An import that changes no plant of the store. It writes new and replaced plants to a temporary table of its
 * connection, where later plants with the same id find them; a deleted plant has no name there.
 */
export async function startDryRun(share: PoolShare, mode: ImportMode, part?: Part): Promise<DryRun> {
  const client = await share.dedicate()
  let hasTable = false

  async function importPlants(plants: readonly ImportedPlant[]): Promise<ImportResult[]> {
    const run = (statement: Statement) => client.run(statement)
    if (!hasTable) {
      await run({ text: 'CREATE TEMPORARY TABLE tried (id bigint PRIMARY KEY, name text, tag text)' })
      hasTable = true
    }
    const writes = plants.map((plant) => importWrite(plant, mode, { token: '', part }))
    const results: ImportResult[] = []
    const indexes = [...writes.keys()]
    const wanted = plantsOf(writes, indexes)
    const present = byId(await selectPlants(run, wanted))
    const ids = bigintArray(wanted.map(({ id }) => id))
    for (const row of (await run({ name: 'select-tried', text: SELECT_TRIED, values: [ids] })).rows) {
      const plant = plantOf(row)
      if (row[1] === null) present.delete(plant.id)
      else present.set(plant.id, plant)
    }
    const { swaps } = decideAll(writes, indexes, present, results, false)
    const changed = swaps.filter(({ before, after }) => !isEqual(before, after))
    const values = [bigintArray(changed.map(({ id }) => id)), ...textsOf(changed.map(({ after }) => after))]
    if (changed.length > 0) await run({ name: 'try', text: TRY, values })
    return results
  }

  /** Ends its transaction at the end, because later rows are tried on the same connection. */
  async function* storedPlants(signal?: AbortSignal): AsyncGenerator<readonly NewPlant[], void, void> {
    try {
      yield* exported(client, ALL_PLANTS, 'id', signal)
    } finally {
      await client.run({ text: 'COMMIT' })
    }
  }

  return {
    importPlants: (plants) =>
      importPlants(plants).catch((error: unknown) => {
        throw share.dedicatedFault(error)
      }),
    storedPlants: (signal) => share.withFaults(storedPlants(signal), signal),
    close: async () => share.discard(client),
  }
}

const SELECT_TRIED = 'SELECT id, name, tag FROM tried WHERE id = ANY ($1::bigint[])'
const TRY = `INSERT INTO tried SELECT id, name, tag FROM unnest($1::bigint[], $2::text[], $3::text[]) AS v (id, name, tag)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag`
