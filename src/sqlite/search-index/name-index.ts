import { compareCodePoints, sortKey } from '../../domain/fold.ts'
import type { NewPlant } from '../../domain/plant.ts'
import type { StatementCache } from '../statement-cache.ts'
import type { Task } from '../worker/cooperative.ts'
import { type Entry, jsonOf } from './entries.ts'

/** Runs of the small table. A batch writes to the pages of one run; an order by name merges all runs. */
const RUNS = Array.from({ length: 8 }, (_, run) => run)
const IN_RUNS = `run IN (${RUNS.join()})`
/** The large table and the runs, each before a condition. */
const TABLES = ['names WHERE', ...RUNS.map((run) => `recent_names WHERE run = ${run} AND`)]
/** Names that one step counts, in 2 ms at most. */
const COUNTED = 20_000
/** Transactions of one merge. It moves names to the large table in key order, while transactions add new names. */
const MERGE_STEPS = 10

interface NameEntry {
  readonly key: string
  readonly id: bigint
}

/** A merge moves the entries after this one. An entry with exactly this key and id stays in the small table. */
const FIRST: NameEntry = { key: '', id: -(2n ** 63n) }

/**
 * Returns a query for the ids in the order of the names. SQLite merges the large table and the runs in the order of
 * their primary keys, and reads none to its end.
 *
 * @param condition of the columns key and id, with numbered parameters
 */
export function idsByName(condition: string, direction: 'ASC' | 'DESC'): string {
  const all = TABLES.map((table) => `SELECT key, id FROM ${table} ${condition}`).join(' UNION ALL ')
  return `SELECT id FROM (${all} ORDER BY key ${direction}, id ${direction})`
}

/** Counts the names with keys from one to before another. It may leave out an entry of the smallest id. */
export function* countOfNames(statements: StatementCache, from: string, before: string): Task<number> {
  let count = 0
  for (const table of TABLES) {
    const rest = `FROM ${table} (key, id) > (?, ?) AND key < ?`
    const end = `SELECT key, id ${rest} ORDER BY key, id LIMIT 1 OFFSET ${COUNTED - 1}`
    let { key, id }: NameEntry = { ...FIRST, key: from }
    for (;;) {
      const row = statements.get(end, key, id, before)
      if (row === undefined) break
      key = row[0] as string
      id = row[1] as bigint
      count += COUNTED
      yield
    }
    count += Number(statements.get(`SELECT count(*) ${rest}`, key, id, before)?.[0])
  }
  return count
}

/** Writes the sort keys of names (sql/sqlite-index.sql). Call its methods inside a transaction of the index. */
export class NameIndex {
  readonly #statements: StatementCache
  readonly #mergeFrom: number
  /** The number of entries in each run. `remove` and a merge under way do not lower it. */
  #entries: number[] = []
  /** The last entry that the merge under way has moved; undefined without a merge. */
  #mergedTo: NameEntry | undefined

  /** @param mergeFrom the number of new names at which a merge into the large table begins */
  constructor(statements: StatementCache, mergeFrom: number) {
    this.#statements = statements
    this.#mergeFrom = mergeFrom
    this.#count()
  }

  /** Adds the keys of plants that have none. */
  add(plants: readonly NewPlant[]): void {
    const names = plants.map(({ id, name }): Entry => [sortKey(name), id])
    // In key order, so that SQLite writes the entries of one page together.
    names.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    const run = this.#runToFill()
    const [most, others] = [names.filter(([key]) => !key.includes('\0')), names.filter(([key]) => key.includes('\0'))]
    // OR FAIL: SQLite keeps no statement journal. An error rolls the whole transaction back.
    const insert = `INSERT OR FAIL INTO recent_names (run, key, id)
      SELECT ?, value, CAST(key AS INTEGER) FROM json_each(?)`
    for (const json of jsonOf(most)) this.#statements.run(insert, run, json)
    for (const [key, id] of others) this.#statements.run('INSERT INTO recent_names VALUES (?, ?, ?)', run, key, id)
    this.#entries[run] = this.#of(run) + names.length
  }

  /** Removes the key of a plant in the state in which it was added. @returns whether the key was present */
  remove({ id, name }: NewPlant): boolean {
    const key = sortKey(name)
    const isDone = (sql: string) => this.#statements.run(sql, key, id) === 1n
    return (
      isDone(`DELETE FROM recent_names WHERE ${IN_RUNS} AND key = ? AND id = ?`) ||
      isDone('DELETE FROM names WHERE key = ? AND id = ?')
    )
  }

  /** Moves some names to the large table when a merge is due or under way. */
  merge(): void {
    if (this.#mergedTo === undefined && this.#entries.reduce((sum, n) => sum + n, 0) < this.#mergeFrom) return
    const { key, id } = this.#mergedTo ?? FIRST
    const end = this.#endOfStep({ key, id })
    const rest = `FROM recent_names WHERE ${IN_RUNS} AND (key, id) > (?, ?)`
    const part = end === undefined ? rest : `${rest} AND (key, id) <= (?, ?)`
    const values = end === undefined ? [key, id] : [key, id, end.key, end.id]
    this.#statements.run(`INSERT OR FAIL INTO names (key, id) SELECT key, id ${part} ORDER BY key, id`, ...values)
    this.#statements.run(`DELETE ${part}`, ...values)
    this.#mergedTo = end
    if (end === undefined) this.#count()
  }

  /** Whether a merge is under way. */
  get isMerging(): boolean {
    return this.#mergedTo !== undefined
  }

  /** Returns the last entry of a step, up to which no run has more than its part; undefined for the last step. */
  #endOfStep(from: NameEntry): NameEntry | undefined {
    const part = Math.ceil(this.#mergeFrom / MERGE_STEPS / RUNS.length)
    const sql = `SELECT key, id FROM recent_names WHERE run = ? AND (key, id) > (?, ?) ORDER BY key, id LIMIT 1 OFFSET ?`
    const ends = RUNS.flatMap((run): NameEntry[] => {
      const row = this.#statements.get(sql, run, from.key, from.id, part)
      return row === undefined ? [] : [{ key: row[0] as string, id: row[1] as bigint }]
    })
    return ends.sort((a, b) => compareCodePoints(a.key, b.key) || (a.id < b.id ? -1 : 1))[0]
  }

  /** Returns the fullest run that has room, so that small batches share one. Without room, returns the emptiest run. */
  #runToFill(): number {
    const byEntries = RUNS.toSorted((a, b) => this.#of(b) - this.#of(a))
    return byEntries.find((run) => this.#of(run) < this.#mergeFrom / RUNS.length) ?? byEntries.at(-1) ?? 0
  }

  #of(run: number): number {
    return this.#entries[run] ?? 0
  }

  #count(): void {
    const rows = this.#statements.all('SELECT run, count(*) FROM recent_names GROUP BY run')
    const counts = new Map(rows.map((row) => [Number(row[0]), Number(row[1])]))
    this.#entries = RUNS.map((run) => counts.get(run) ?? 0)
  }
}
