import { type CsvRow, isNothing, type Mapping } from '../csv-rows.ts'

/** Which row of a file got which id. */
export interface Remembered {
  /** The ids in the order of the rows: `7`, or `12+391` for 391 ids from 12 on. */
  readonly ids: string
  /** A column that names each plant, such as its article number, with the hashes of its cells in the order of the rows. */
  readonly column?: string | undefined
  readonly hashes?: string | undefined
}

/** The most rows of a file that are kept, and characters of a cell that names a plant. */
const MOST_ROWS = 100_000
const LONGEST_CELL = 60

/** A row of a file with the id of its plant. */
export interface RowWithId {
  readonly row: CsvRow
  readonly id: bigint
}

/** A row with the id that it got in an earlier import. */
export interface Recalled<Row> {
  readonly candidate: Row
  readonly id: bigint
  /** Whether a column names the plant. Otherwise the row stands where the plant stood. */
  readonly isNamed: boolean
}

type HashOf = (cell: string) => string

/** Looks at the rows of a file for what names each plant. */
export class RowNotes {
  readonly #columns: readonly string[]
  readonly #rows: number[] = []
  readonly #cells: Map<number, Set<string>>

  constructor(columns: readonly string[], { id, name, tag }: Mapping) {
    this.#columns = columns
    this.#cells = new Map(columns.map((_, at) => [at, new Set<string>()]))
    for (const at of [id, tag, ...name]) if (at !== undefined) this.#cells.delete(at)
  }

  take({ number, cells }: CsvRow): void {
    this.#rows.push(number)
    if (this.#rows.length > MOST_ROWS) return
    for (const [at, found] of this.#cells) {
      const cell = cells[at] ?? ''
      // A column with an empty cell, or with one twice, names no plant.
      if (isNothing(cell) || cell.length > LONGEST_CELL || found.has(cell)) this.#cells.delete(at)
      else found.add(cell)
    }
  }

  /** What to keep, with the ids of the rows by their numbers; undefined for too many rows. */
  remembered(idOf: (row: number) => bigint | undefined, hashOf: HashOf): Remembered | undefined {
    if (this.#rows.length > MOST_ROWS) return undefined
    const ids = this.#rows.map(idOf)
    const known = ids.filter((id) => id !== undefined)
    const [naming] = this.#cells
    if (naming === undefined) return { ids: runsOf(known) }
    const hashes = [...naming[1]].filter((_, i) => ids[i] !== undefined).map(hashOf)
    return { ids: runsOf(known), column: this.#columns[naming[0]], hashes: hashes.join(' ') }
  }
}

/**
 * Finds the ids that rows of a file got in an earlier import, where they are not stored as they are now: by the column
 * that names each plant, or where as many rows as then lie between two that are stored.
 *
 * @param rows all rows of the file in their order, with their ids where they are stored
 * @param added the rows that are not stored
 */
export function recallRows<Row extends { readonly row: Pick<CsvRow, 'cells'> }>(
  kept: Remembered,
  columns: readonly string[],
  rows: readonly { readonly row: number; readonly id: bigint | undefined }[],
  added: ReadonlyMap<number, Row>,
  hashOf: HashOf,
): readonly Recalled<Row>[] {
  const ids = idsIn(kept.ids)
  const taken = new Set(rows.flatMap(({ id }) => id ?? []))
  const at = kept.column === undefined ? -1 : columns.indexOf(kept.column)
  if (kept.hashes !== undefined && at !== -1) {
    const byHash = new Map(kept.hashes.split(' ').map((hash, i) => [hash, ids[i]]))
    return [...added.values()].flatMap((candidate) => {
      const id = byHash.get(hashOf(candidate.row.cells[at] ?? ''))
      return id === undefined || taken.has(id) ? [] : [{ candidate, id, isNamed: true }]
    })
  }
  return betweenStored(ids, taken, rows, added)
}

function betweenStored<Row>(
  ids: readonly bigint[],
  taken: ReadonlySet<bigint>,
  rows: readonly { readonly row: number; readonly id: bigint | undefined }[],
  added: ReadonlyMap<number, Row>,
): readonly Recalled<Row>[] {
  const places = new Map(ids.map((id, i) => [id, i]))
  const found: Recalled<Row>[] = []
  /** The rows, and the place among the ids, since the last row that is stored. */
  let gap: number[] = []
  let place = -1
  const close = (end: number) => {
    const lost = ids.slice(place + 1, end).filter((id) => !taken.has(id))
    if (lost.length === gap.length) {
      for (const [i, row] of gap.entries()) {
        const candidate = added.get(row)
        const id = lost[i]
        if (candidate !== undefined && id !== undefined) found.push({ candidate, id, isNamed: false })
      }
    }
    gap = []
    place = end
  }
  for (const { row, id } of rows) {
    const end = id === undefined ? undefined : places.get(id)
    if (id === undefined) gap.push(row)
    else if (end !== undefined && end > place) close(end)
    else gap = []
  }
  close(ids.length)
  return found
}

function runsOf(ids: readonly bigint[]): string {
  const runs: { readonly first: bigint; count: bigint }[] = []
  for (const id of ids) {
    const last = runs.at(-1)
    if (last !== undefined && last.first + last.count === id) last.count += 1n
    else runs.push({ first: id, count: 1n })
  }
  return runs.map(({ first, count }) => (count === 1n ? `${first}` : `${first}+${count}`)).join(' ')
}

const idsIn = (runs: string): readonly bigint[] =>
  runs
    .split(' ')
    .filter((run) => run !== '')
    .flatMap((run) => {
      const [first = '0', count = '1'] = run.split('+')
      return Array.from({ length: Math.min(Number(count), MOST_ROWS) }, (_, i) => BigInt(first) + BigInt(i))
    })
