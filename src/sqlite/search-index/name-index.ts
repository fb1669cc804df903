import type { NewPlant } from '../../domain/plant.ts'
import { compareCodePoints, sortKey } from '../../domain/plant-query.ts'
import type { StatementCache } from '../rows.ts'

/** The values of a parameter that is a JSON array. */
export const LISTED = '(SELECT value FROM json_each(?))'

/** Runs of the small table. A batch writes to the pages of one run; an order by name merges all runs. */
const RUNS = Array.from({ length: 8 }, (_, run) => run)
/** Of all runs that have names; a text of its own for each set of runs would keep a statement for each. */
const IN_RUNS = `run IN ${LISTED}`
/** The large table and the runs, each before a condition. */
const TABLES = ['names WHERE', ...RUNS.map((run) => `recent_names WHERE run = ${run} AND`)]
/** Transactions of one merge. It moves names to the large table in key order, while transactions add new names. */
const MERGE_STEPS = 10
/**
 * During a scan, each batch has a run of its own, which SQLite writes once: in a run that grows with the store, a batch
 * of names in random order would write nearly every page. A scan ends once a merge has emptied these runs. Small batches
 * share a run, up to this part of what a merge takes.
 */
const RUNS_OF_SCAN = 20
/** Whether names of a scan are left in its own runs, where no search finds them. */
export const hasUnmergedNames = (statements: Pick<StatementCache, 'get'>): boolean =>
  statements.get(`SELECT 1 FROM recent_names WHERE run >= ${RUNS.length} LIMIT 1`) !== undefined

/** Names of such a transaction during a scan: twice those that the scan adds meanwhile. */
const SCAN_MERGE_STEP = 40_000

interface NameEntry {
  readonly key: string
  readonly id: bigint
}

/** SQL and its values for the entries behind one; for all of them where there is none, as a plant may have the least id. */
const behind = (entry: NameEntry | undefined): readonly [condition: string, ...values: (string | bigint)[]] =>
  entry === undefined ? ['TRUE'] : ['(key, id) > (?, ?)', entry.key, entry.id]

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

/** Writes the sort keys of names (sql/sqlite-index.sql). Call its methods inside a transaction of the index. */
export class NameIndex {
  readonly #statements: StatementCache
  readonly #mergeFrom: number
  /** The number of entries in each run, once they are counted. `remove` and a merge under way do not lower it. */
  #entries: Map<number, number> | undefined
  /** The last entry that the merge under way has moved; undefined without a merge. */
  #mergedTo: NameEntry | undefined

  constructor(statements: StatementCache, mergeFrom: number) {
    this.#statements = statements
    this.#mergeFrom = mergeFrom
  }

  /** Adds the keys of plants that have none. @param inIdOrder the keys with the ids of their plants */
  add(inIdOrder: readonly Entry[], isScanning: boolean): void {
    const starts = 'INSERT OR FAIL INTO name_starts (start, id) SELECT value, CAST(key AS INTEGER) FROM json_each(?)'
    this.#statements.run(starts, jsonOf(inIdOrder.map(([key, id]) => [nameStart(key), id])))
    // In key order, so that SQLite writes the entries of one page together.
    const names = inIdOrder.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    const run = isScanning ? this.#runOfScan() : this.#runToFill()
    const [most, others] = [names.filter(([key]) => !key.includes('\0')), names.filter(([key]) => key.includes('\0'))]
    // OR FAIL: SQLite keeps no statement journal. An error rolls the whole transaction back.
    const insert = `INSERT OR FAIL INTO recent_names (run, key, id)
      SELECT ?, value, CAST(key AS INTEGER) FROM json_each(?)`
    this.#statements.run(insert, run, jsonOf(most))
    for (const [key, id] of others) this.#statements.run('INSERT INTO recent_names VALUES (?, ?, ?)', run, key, id)
    this.#inRuns.set(run, this.#of(run) + names.length)
  }

  /** Removes the key of a plant in the state in which it was added. @returns whether the key was present */
  remove({ id, name }: NewPlant): boolean {
    const key = sortKey(name)
    const recent = `DELETE FROM recent_names WHERE ${IN_RUNS} AND key = ? AND id = ?`
    return (
      this.#statements.run('DELETE FROM name_starts WHERE id = ?', id) === 1n &&
      (this.#statements.run(recent, this.#runs, key, id) === 1n ||
        this.#statements.run('DELETE FROM names WHERE key = ? AND id = ?', key, id) === 1n)
    )
  }

  /**
   * Moves some names to the large table when a merge is due or under way.
   *
   * @param scanned the plants that a scan has read so far; 0 without one. Each merge writes most pages of the large table,
   *   so a scan merges once for half of its plants, and writes in proportion to them
   * @param isAtEnd whether the scan has read all plants
   */
  merge(scanned = 0, isAtEnd = false): void {
    const due = isAtEnd && this.hasScanned ? 0 : Math.max(this.#mergeFrom, scanned / 2)
    if (this.#mergedTo === undefined && this.#inRuns.values().reduce((sum, n) => sum + n, 0) < due) return
    const [isLeft, ...from] = behind(this.#mergedTo)
    const end = this.#endOfStep(this.#mergedTo, Math.max(this.#mergeFrom / MERGE_STEPS, scanned && SCAN_MERGE_STEP))
    const rest = `FROM recent_names WHERE ${IN_RUNS} AND ${isLeft}`
    const part = end === undefined ? rest : `${rest} AND (key, id) <= (?, ?)`
    const values = [this.#runs, ...from, ...(end === undefined ? [] : [end.key, end.id])]
    this.#statements.run(`INSERT OR FAIL INTO names (key, id) SELECT key, id ${part} ORDER BY key, id`, ...values)
    this.#statements.run(`DELETE ${part}`, ...values)
    this.#mergedTo = end
    if (end === undefined) this.#entries = undefined
  }

  /** Whether the runs of a scan have names, which no search finds. */
  get hasScanned(): boolean {
    return this.#inRuns.keys().some((run) => run >= RUNS.length)
  }

  get isMerging(): boolean {
    return this.#mergedTo !== undefined
  }

  /** Returns the last entry of a step of some names, up to which no run has more than its part; undefined for the last. */
  #endOfStep(from: NameEntry | undefined, names: number): NameEntry | undefined {
    const runs = [...this.#inRuns.keys()]
    const part = Math.ceil(names / runs.length)
    const [isLeft, ...values] = behind(from)
    const sql = `SELECT key, id FROM recent_names WHERE run = ? AND ${isLeft} ORDER BY key, id LIMIT 1 OFFSET ?`
    const ends = runs.flatMap((run): NameEntry[] => {
      const row = this.#statements.get(sql, run, ...values, part)
      return row === undefined ? [] : [{ key: row[0] as string, id: row[1] as bigint }]
    })
    return ends.sort((a, b) => compareCodePoints(a.key, b.key) || (a.id < b.id ? -1 : 1))[0]
  }

  /** Returns the fullest run that has room, so that small batches share one. Without room, returns the emptiest run. */
  #runToFill(): number {
    const byEntries = RUNS.toSorted((a, b) => this.#of(b) - this.#of(a))
    return byEntries.find((run) => this.#of(run) < this.#mergeFrom / RUNS.length) ?? byEntries.at(-1) ?? 0
  }

  /** The last run of the scan, or a new one. */
  #runOfScan(): number {
    const last = Math.max(RUNS.length, ...this.#inRuns.keys())
    return this.#of(last) < this.#mergeFrom / RUNS_OF_SCAN ? last : last + 1
  }

  #of(run: number): number {
    return this.#inRuns.get(run) ?? 0
  }

  /** The value of IN_RUNS. */
  get #runs(): string {
    return `[${[...this.#inRuns.keys()].join()}]`
  }

  /** The number of entries of each run: of RUNS, and of those of a scan that have some. */
  get #inRuns(): Map<number, number> {
    if (this.#entries === undefined) {
      const rows = this.#statements.all('SELECT run, count(*) FROM recent_names GROUP BY run')
      this.#entries = new Map(RUNS.map((run) => [run, 0]))
      for (const row of rows) this.#entries.set(Number(row[0]), Number(row[1]))
    }
    return this.#entries
  }
}

export type Entry = readonly [text: string, id: bigint]

/**
 * Returns a JSON object of entries with different ids. The ids are keys, which keep them exact. One statement over
 * `json_each` for a batch takes half the time of a statement for each entry. SQLite ends a JSON text at a NUL.
 */
export const jsonOf = (entries: readonly Entry[]): string =>
  `{${entries.map(([text, id]) => `"${id}":${JSON.stringify(text)}`).join()}}`

/** Maximum number of code points in a term. A search for a shorter word reads all terms with this prefix. */
export const TERM_LENGTH = 20
const SURROGATE = /[\ud800-\udfff]/

/** The start of a sort key in name_starts. Of two keys, the greater one has no smaller start. */
export const nameStart = (key: string): string => truncate(key.split('\0', 1)[0] ?? '')

export function truncate(word: string): string {
  const start = word.slice(0, TERM_LENGTH)
  return SURROGATE.test(start)
    ? Array.from(word.slice(0, TERM_LENGTH * 2))
        .slice(0, TERM_LENGTH)
        .join('')
    : start
}
