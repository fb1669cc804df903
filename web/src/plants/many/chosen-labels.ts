import { computed, signal } from '@preact/signals'
import type { PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import type { LabelText } from '../../codes/qr-code.ts'
import { go } from '../../page/route.ts'
import { onSignOut } from '../../session/session.ts'
import { type Filter, queryFor } from '../list/filter.ts'

/** The most labels of one document: a file of about two megabytes, which takes some seconds to draw. */
export const MOST_LABELS = 1000

/** The most labels that the page holds, as many as the plants of a stocktake. */
export const MOST_CHOSEN = 100_000

/** The labels to print, in order. They outlive the view. */
export const chosen = signal<readonly LabelText[]>([])

const wantedPart = signal(0)

/** The labels of the document: a part of those chosen. */
export const inDocument = computed(() => {
  const last = Math.max(0, Math.ceil(chosen.value.length / MOST_LABELS) - 1)
  const start = Math.min(wantedPart.value, last) * MOST_LABELS
  const labels = chosen.value.slice(start, start + MOST_LABELS)
  return { labels, start, end: start + labels.length }
})

/** Turns to the next part, or to the one before. */
export const turnPart = (step: 1 | -1): void => {
  wantedPart.value = inDocument.value.start / MOST_LABELS + step
}

export const clearChosen = (): void => {
  chosen.value = []
  wantedPart.value = 0
}
onSignOut(clearChosen)

export const isChosen = (id: bigint): boolean => chosen.value.some((label) => label.id === id)

/** Opens the labels of these plants, in place of those chosen before. */
export function printLabels(plants: readonly StoredPlant[]): void {
  clearChosen()
  add(plants.map(labelOf))
  go('labels')
}

/** The query of the view of labels that chooses all plants of a filter there, in place of those chosen before. */
export function queryForLabels(filter: Filter): URLSearchParams {
  const query = queryFor({ ...filter, sort: 'id' })
  query.set(CHOOSE_ALL, '')
  return query
}

export const CHOOSE_ALL = 'all'

export const labelOf = ({ id, name, tag }: StoredPlant): LabelText => ({ id, name, tag })

/**
 * Adds labels up to MOST_CHOSEN. A label whose id is chosen already replaces the old one.
 *
 * @returns how many labels found no room
 */
export function add(labels: readonly LabelText[]): number {
  const renewed = new Map(labels.map((label) => [label.id, label]))
  const kept = chosen.value.map((label) => renewed.get(label.id) ?? label)
  const known = new Set(kept.map(({ id }) => id))
  const added = labels.filter(({ id }) => !known.has(id))
  const room = MOST_CHOSEN - kept.length
  chosen.value = [...kept, ...added.slice(0, room)]
  return Math.max(0, added.length - room)
}

export function remove(id: bigint): void {
  chosen.value = chosen.value.filter((label) => label.id !== id)
}

/** Adds labels for all plants that match, up to MOST_CHOSEN. @returns whether some found no room */
export async function addAll(
  client: PlantstoreClient,
  query: Parameters<PlantstoreClient['listPlants']>[0],
  signal: AbortSignal,
): Promise<boolean> {
  for await (const page of client.listPlants({ ...query, limit: MOST_LABELS }, { signal }).pages()) {
    if (signal.aborted || add(page.map(labelOf)) > 0) return !signal.aborted
  }
  return false
}

/** Reserves ids, and adds a label without a name for each. @returns the first and the last id */
export async function addReserved(client: PlantstoreClient, count: number): Promise<readonly [bigint, bigint]> {
  const { first, last } = await client.reserveIds(count)
  add(Array.from({ length: count }, (_, i) => ({ id: first + BigInt(i), name: '', tag: undefined })))
  return [first, last]
}
