import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { hash64 } from '../../../src/domain/plant.ts'
import type { CsvRow } from '../../../src/import/csv-rows.ts'
import { foldedName, unlikenessOf } from '../../../src/import/sheet/likeness.ts'
import { type Recalled, type Remembered, type RowNotes, recallRows } from '../../../src/import/sheet/recall.ts'
import type { RowPlant } from '../../../src/import/sheet/sheet-plants.ts'
import { fewAtOnce } from '../page/few-at-once.ts'
import { isRefusal } from '../page/said.ts'
import { keepStored, storedAs } from '../page/stored.ts'

/** What this browser keeps of the import of a file, for each address of a service. */
interface RememberedFile extends Remembered {
  readonly file: string
}

/** A row that would add a plant. */
interface Candidate {
  readonly row: Pick<CsvRow, 'number' | 'cells'>
  readonly plant: RowPlant
}

/** A row that looks like a stored plant whose name or tag was corrected in the sheet. */
export interface Similar extends Candidate {
  readonly stored: StoredPlant
}

const KEY = storedAs('plantstore-imports')
/** The most files, and UTF-16 units of all together, that the browser keeps: it has room for about five million. */
const MOST_FILES = 30
const MOST_TEXT = 1_300_000

/** Browsers add (1) to the name of a file that they download again. */
const plainName = (file: string): string => file.replace(/ ?\(\d+\)(?=\.[^.]*$)/, '')

/** A cell may be a person's address, and is of a column that nobody has imported: 52 bits of it, in base 36. */
const hashing = (file: string) => (cell: string) =>
  Number.parseInt(hash64(`${plainName(file)}\0${cell}`).slice(0, 13), 16).toString(36)

/** Keeps the ids of the rows of a file, in place of those of earlier imports of it. */
export function remember(file: string, notes: RowNotes, idOf: (row: number) => bigint | undefined): void {
  const kept = notes.remembered(idOf, hashing(file))
  if (kept === undefined) return
  const next = { file: plainName(file), ...kept }
  let all = [next, ...read().filter((each) => each.file !== next.file)].slice(0, MOST_FILES)
  while (all.length > 0 && JSON.stringify(all).length > MOST_TEXT) all = all.slice(0, -1)
  try {
    keepStored('plantstore-imports', JSON.stringify(all))
  } catch {
    // No room. The page then compares names only.
  }
}

/** Finds the ids that rows of a file got in an earlier import, as `recallRows` does. */
export function recall<Row extends Candidate>(
  file: string,
  columns: readonly string[],
  rows: readonly { readonly row: number; readonly id: bigint | undefined }[],
  added: ReadonlyMap<number, Row>,
): readonly Recalled<Row>[] {
  const kept = read().find((each) => each.file === plainName(file))
  return kept === undefined ? [] : recallRows(kept, columns, rows, added, hashing(file))
}

/** Reads the plants that rows got in an earlier import, if they are still stored and still like the rows. */
export async function plantsRecalled(
  client: PlantstoreClient,
  rows: readonly Recalled<Candidate>[],
  signal: AbortSignal,
): Promise<readonly Similar[]> {
  const found: Similar[] = []
  await fewAtOnce(rows, async ({ candidate, id, isNamed }) => {
    try {
      const { plant: stored } = await client.getPlant(id, { signal })
      const { plant } = candidate
      const isLike =
        stored.tag === plant.tag || unlikenessOf(foldedName(stored.name), foldedName(plant.name)) !== undefined
      if (isNamed || isLike) found.push({ ...candidate, stored })
    } catch (error) {
      if (!isRefusal(error, 40402)) throw error
    }
  })
  return found
}

const isRemembered = (value: unknown): value is RememberedFile =>
  typeof value === 'object' &&
  value !== null &&
  'file' in value &&
  typeof value.file === 'string' &&
  'ids' in value &&
  typeof value.ids === 'string' &&
  /^(-?\d+(\+\d+)?( |$))*$/.test(value.ids) &&
  (!('hashes' in value) || typeof value.hashes === 'string')

function read(): readonly RememberedFile[] {
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

/** Drops the cells in clear that version 1.0.0 kept. Call it once, when the page begins. */
export function dropCells(): void {
  if (localStorage.getItem(KEY)?.includes('"cells"')) localStorage.setItem(KEY, JSON.stringify(read()))
}
