import { inTurns } from '../../base/time-slice.ts'
import {
  type ChangeEntry,
  MAX_NEWEST_SEEN,
  NewestEntries,
  type NewestPage,
  type NewestRequest,
} from '../../domain/changes.ts'
import { isBeginning, type Part } from '../../domain/part.ts'
import type { Run } from '../pool/client.ts'
import { bigintArray, textArray } from '../rows.ts'
import { NEWEST_DELETED, NEWEST_LEFT, NEWEST_ROWS, NEWEST_STORED } from './log-sql.ts'
import { endOf, entriesOf, headOf, makeTick, positionOf } from './read-rows.ts'

/** Rows of the log that one statement looks at. Most rows have many changes, so the first looks at few. */
const FIRST_ROWS = 64
const LATER_ROWS = 1000
/** Changes of which one statement returns the entries, unless a single row has more. */
const STATEMENT_CHANGES = 1000

interface Seen {
  readonly entry: ChangeEntry
  /** The number of its row. */
  readonly number: bigint
}

/** Reads plants by their newest changes, from the last tick back (ChangeLog.newest). */
export async function newestChanges(
  run: Run,
  request: NewestRequest,
  signal: AbortSignal | undefined,
): Promise<NewestPage> {
  const { of, before, limit } = request
  if (before === undefined) await makeTick(run, signal)
  const { history, place: given, last } = await headOf(run, before)
  const newest = new NewestEntries(request)
  const entries: ChangeEntry[] = []
  let place = before === undefined ? endOf(last) : given
  let seen = 0
  for (let maxRows = FIRST_ROWS; ; maxRows = Math.min(LATER_ROWS, 4 * maxRows)) {
    const { tick, number, element } = place
    const values = [tick, number, element, maxRows, STATEMENT_CHANGES].map(String)
    const { rows } = await run({
      name: 'newest-rows',
      text: NEWEST_ROWS,
      values: [...values, of === 'deleted' ? 't' : 'f'],
    })
    const [[since = null] = []] = rows
    const oldest = since === null ? undefined : Number(since)
    const found: Seen[] = []
    for (const [, rowTick, mark, rowNumber, changes, time, ...columns] of rows) {
      if (rowTick == null) continue
      const row = { tick: BigInt(rowTick), mark: BigInt(mark ?? 0), number: BigInt(rowNumber ?? 0) }
      const isOfPlace = row.tick === place.tick && row.number === place.number
      const all = [...entriesOf({ history, place: endOf(row) }, row, Number(time), columns)]
      // Entries behind the position have had their page, and may be later ones of plants before it.
      if (isOfPlace) for (const entry of all.splice(place.element).reverse()) newest.candidate(entry)
      found.push(...all.reverse().map((entry) => ({ entry, number: row.number })))
      seen += Number(changes)
    }
    const picked = await inTurns(found, ({ entry, number }) => {
      const own = newest.candidate(entry)
      return own === undefined ? [] : [{ entry: own, number }]
    })
    for (const entry of await withoutLater(run, request, picked.flat())) {
      entries.push(entry)
      if (entries.length === limit) return { entries, next: entry.position, since: oldest }
    }
    const end = rows.at(-1)
    if (end?.[1] == null) return { entries, next: undefined, since: oldest }
    place = { tick: BigInt(end[1]), mark: BigInt(end[2] ?? 0), number: BigInt(end[3] ?? 0), element: 0 }
    if (seen >= MAX_NEWEST_SEEN) return { entries, next: positionOf(history, place), since: oldest }
  }
}

/** Leaves out an entry if its plant has a later one, in the part where the request has one. */
async function withoutLater(
  run: Run,
  { of, part }: NewestRequest,
  candidates: readonly Seen[],
): Promise<readonly ChangeEntry[]> {
  if (candidates.length === 0) return []
  const values = [
    bigintArray(candidates.map(({ entry }) => (entry.plant ?? entry.before)?.id ?? 0n)),
    bigintArray(candidates.map(({ number }) => number)),
  ]
  const statement =
    of === 'stored'
      ? { name: 'newest-stored', text: NEWEST_STORED, values }
      : part === undefined
        ? { name: 'newest-deleted', text: NEWEST_DELETED, values }
        : { name: 'newest-left', text: NEWEST_LEFT, values: [...values, ...textsOf(part)] }
  const { rows } = await run(statement)
  return rows.flatMap(([at]) => candidates[Number(at) - 1]?.entry ?? [])
}

const textsOf = (part: Part): Buffer[] => [
  textArray(part.filter((text) => !isBeginning(text))),
  textArray(part.filter(isBeginning)),
]
