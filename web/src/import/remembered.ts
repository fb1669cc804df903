import { hash64 } from '../../../src/domain/plant.ts'
import { type CsvRow, isNothing, type Mapping } from '../../../src/import/csv-rows.ts'
import { keepStored, storedAs } from '../page/stored.ts'
import type { RowPlant } from './plant-row.ts'

/** Which row of a file got which id, kept by this browser for each address of a service. */
interface Remembered {
  readonly file: string
  /** The ids in the order of the rows: `7`, or `12+391` for 391 ids from 12 on. */
  readonly ids: string
  /** A column that names each plant, such as its article number, with the hashes of its cells in the order of the rows. */
  readonly column?: string | undefined
  readonly hashes?: string | undefined
}

const KEY = storedAs('plantstore-imports')
/** The most files, and UTF-16 units of all together, that the browser keeps: it has room for about five million. */
const MOST_FILES = 30
const MOST_TEXT = 1_300_000
/** The most rows of a file that are kept, and characters of a cell that names a plant. */
const MOST_ROWS = 100_000
const LONGEST_CELL = 60

/** A row of a file with the id of its plant. */
export interface RowWithId {
  readonly row: CsvRow
  readonly id: bigint
}

/** A row that would add a plant. */
export interface Candidate {
  readonly row: number
  readonly plant: RowPlant
}

/** A row with the id that it got in an earlier import. */
export interface Recalled {
  readonly candidate: Candidate
  readonly id: bigint
  /** Whether a column names the plant. Otherwise the row stands where the plant stood. */
  readonly isNamed: boolean
}

/** Browsers add (1) to the name of a file that they download again. */
const plainName = (file: string): string => file.replace(/ ?\(\d+\)(?=\.[^.]*$)/, '')

/** A cell may be a person's address, and is of a column that nobody has imported: 52 bits of it, in base 36. */
const hashOf = (file: string, cell: string): string =>
  Number.parseInt(hash64(`${plainName(file)}\0${cell}`).slice(0, 13), 16).toString(36)

/** Keeps the ids of the rows of a file, in place of those of earlier imports of it. */
export async function remember(
  file: string,
  columns: readonly string[],
  mapping: Mapping,
  rows: AsyncIterable<RowWithId>,
): Promise<void> {
  const ids: bigint[] = []
  const cells = new Map(columns.map((_, at) => [at, new Set<string>()]))
  for (const at of [mapping.id, mapping.tag, ...mapping.name]) if (at !== undefined) cells.delete(at)
  for await (const { row, id } of rows) {
    ids.push(id)
    if (ids.length > MOST_ROWS) return
    for (const [at, found] of cells) {
      const cell = row.cells[at] ?? ''
      // A column with an empty cell, or with one twice, names no plant.
      if (isNothing(cell) || cell.length > LONGEST_CELL || found.has(cell)) cells.delete(at)
      else found.add(cell)
    }
  }
  const [naming] = cells
  const next: Remembered = {
    file: plainName(file),
    ids: runsOf(ids),
    ...(naming === undefined
      ? {}
      : { column: columns[naming[0]], hashes: [...naming[1]].map((cell) => hashOf(file, cell)).join(' ') }),
  }
  let all = [next, ...read().filter((each) => each.file !== next.file)].slice(0, MOST_FILES)
  while (all.length > 0 && JSON.stringify(all).length > MOST_TEXT) all = all.slice(0, -1)
  try {
    keepStored('plantstore-imports', JSON.stringify(all))
  } catch {
    // No room. The page then compares names only.
  }
}

/**
 * Finds the ids that rows of a file got in an earlier import, where they are not stored as they are now: by the column
 * that names each plant, or where as many rows as then lie between two that are stored.
 *
 * @param rows all rows of the file in their order, with their ids where they are stored
 * @param added the rows that are not stored
 */
export function recall(
  file: string,
  columns: readonly string[],
  rows: readonly { readonly row: number; readonly id: bigint | undefined }[],
  added: ReadonlyMap<number, Candidate & { readonly cells: CsvRow['cells'] }>,
): readonly Recalled[] {
  const kept = read().find((each) => each.file === plainName(file))
  if (kept === undefined) return []
  const ids = idsIn(kept.ids)
  const taken = new Set(rows.flatMap(({ id }) => id ?? []))
  const at = kept.column === undefined ? -1 : columns.indexOf(kept.column)
  if (kept.hashes !== undefined && at !== -1) {
    const byHash = new Map(kept.hashes.split(' ').map((hash, i) => [hash, ids[i]]))
    return [...added.values()].flatMap(({ cells, ...candidate }) => {
      const id = byHash.get(hashOf(file, cells[at] ?? ''))
      return id === undefined || taken.has(id) ? [] : [{ candidate, id, isNamed: true }]
    })
  }
  const places = new Map(ids.map((id, i) => [id, i]))
  const found: Recalled[] = []
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

const isRemembered = (value: unknown): value is Remembered =>
  typeof value === 'object' &&
  value !== null &&
  'file' in value &&
  typeof value.file === 'string' &&
  'ids' in value &&
  typeof value.ids === 'string' &&
  /^(-?\d+(\+\d+)?( |$))*$/.test(value.ids) &&
  (!('hashes' in value) || typeof value.hashes === 'string')

function read(): readonly Remembered[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    // A page of version 1.0.0 kept the cells themselves.
    return Array.isArray(found)
      ? found.filter(isRemembered).map(({ file, ids, column, hashes }) => ({ file, ids, column, hashes }))
      : []
  } catch {
    return []
  }
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

/** Drops the cells in clear that version 1.0.0 kept. Call it once, when the page begins. */
export function dropCells(): void {
  if (localStorage.getItem(KEY)?.includes('"cells"')) localStorage.setItem(KEY, JSON.stringify(read()))
}
