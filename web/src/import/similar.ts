import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { isRefusal } from '../page/said.ts'
import type { RowPlant } from './plant-row.ts'
import type { Candidate, Recalled } from './remembered.ts'

/** A row that looks like a stored plant whose name or tag was corrected in the sheet. */
export interface Similar {
  readonly row: number
  readonly plant: RowPlant
  readonly stored: StoredPlant
}

/** The most rows that are compared with stored plants, and the stored plants that are read for that, the newest first. */
export const MOST_COMPARED = 1000
const MOST_READ = 20_000
/** Tags that one request names. Its address has to stay short. */
const MOST_TAGS = 20
/** Rows after which the page may draw. */
const SLICE = 20

/**
 * Finds stored plants with the tag of a row and a name like its own.
 *
 * @param rows at most MOST_COMPARED of them
 * @param taken the ids of plants that other rows are
 */
export async function plantsLike(
  client: PlantstoreClient,
  rows: readonly Candidate[],
  taken: ReadonlySet<bigint>,
  signal: AbortSignal,
): Promise<readonly Similar[]> {
  const wanted = new Map<string | undefined, { readonly stored: StoredPlant; readonly name: Folded }[]>(
    rows.map(({ plant }) => [plant.tag, []]),
  )
  const tags = [...wanted.keys()].filter((tag) => tag !== undefined)
  const query = tags.length === wanted.size && tags.length <= MOST_TAGS ? { tag: tags } : {}
  let count = 0
  for await (const stored of client.exportPlants({ ...query, sort: '-id' }, { signal })) {
    count += 1
    if (!taken.has(stored.id)) wanted.get(stored.tag)?.push({ stored, name: folded(stored.name) })
    if (count === MOST_READ) break
  }
  const pairs: { readonly similar: Similar; readonly unlikeness: number }[] = []
  for (const [i, { row, plant }] of rows.entries()) {
    if (i % SLICE === 0) await new Promise((resume) => setTimeout(resume))
    signal.throwIfAborted()
    const name = folded(plant.name)
    for (const { stored, name: other } of wanted.get(plant.tag) ?? []) {
      const unlikeness = unlikenessOf(name, other)
      if (unlikeness !== undefined) pairs.push({ similar: { row, plant, stored }, unlikeness })
    }
  }
  return matched(pairs.toSorted((a, b) => a.unlikeness - b.unlikeness).map(({ similar }) => similar))
}

/** Takes each row and each plant once, the first pairs first. */
function matched(pairs: readonly Similar[]): readonly Similar[] {
  const rows = new Set<number>()
  const ids = new Set<bigint>()
  return pairs.filter(({ row, stored }) => {
    if (rows.has(row) || ids.has(stored.id)) return false
    rows.add(row)
    ids.add(stored.id)
    return true
  })
}

/** Plants that are read at once by their ids. */
const AT_ONCE = 3

/** Reads the plants that rows got in an earlier import, if they are still stored and still like the rows. */
export async function plantsRecalled(
  client: PlantstoreClient,
  rows: readonly Recalled[],
  signal: AbortSignal,
): Promise<readonly Similar[]> {
  const found: Similar[] = []
  const left = [...rows]
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      try {
        const { plant: stored } = await client.getPlant(next.id, { signal })
        const { row, plant } = next.candidate
        const isLike = stored.tag === plant.tag || unlikenessOf(folded(stored.name), folded(plant.name)) !== undefined
        if (next.isNamed || isLike) found.push({ row, plant, stored })
      } catch (error) {
        if (!isRefusal(error, 40402)) throw error
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return found
}

interface Folded {
  readonly text: string
  /** Names that differ in their numbers, as seedlings do, are of different plants. */
  readonly numbers: string
}

/** Takes away case, accents and punctuation. */
export function folded(name: string): Folded {
  const text = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
  return { text, numbers: text.replaceAll(/\P{N}+/gu, ' ').trim() }
}

/** Characters of a name for each one that may differ. */
const FOR_ONE = 5

/** How far two names are apart; undefined where they are not alike. A name that continues another one is like it. */
export function unlikenessOf(one: Folded, other: Folded): number | undefined {
  if (one.numbers !== other.numbers) return undefined
  const longest = Math.max(one.text.length, other.text.length)
  const most = Math.max(1, Math.floor(longest / FOR_ONE))
  const distance = distanceOf(one.text, other.text, most)
  if (distance <= most) return distance
  return one.text.startsWith(`${other.text} `) || other.text.startsWith(`${one.text} `) ? most + 1 : undefined
}

/** Characters to insert, remove or replace between two texts; more than `most` where it is more. */
function distanceOf(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1
  let before = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i++) {
    const from = Math.max(1, i - most)
    const to = Math.min(other.length, i + most)
    const row = new Array<number>(other.length + 1).fill(most + 1)
    if (from === 1) row[0] = i
    let least = most + 1
    for (let j = from; j <= to; j++) {
      const same = one.charCodeAt(i - 1) === other.charCodeAt(j - 1) ? 0 : 1
      const cell = Math.min((before[j - 1] ?? 0) + same, (before[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      row[j] = cell
      if (cell < least) least = cell
    }
    if (least > most) return most + 1
    before = row
  }
  return before[other.length] ?? most + 1
}
