import { signal } from '@preact/signals'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import type { LabelText } from '../codes/qr-code.ts'
import { go } from '../page/route.ts'
import { onSignOut } from '../session/session.ts'
import { type Filter, queryFor } from './filter.ts'

/** The most labels of one document: a file of about two megabytes, which takes some seconds to draw. */
export const MOST_LABELS = 1000

/** The labels to print, in order. They outlive the view. */
export const chosen = signal<readonly LabelText[]>([])

export const clearChosen = (): void => {
  chosen.value = []
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
 * Adds labels up to MOST_LABELS. A label whose id is chosen already replaces the old one.
 *
 * @returns how many labels found no room
 */
export function add(labels: readonly LabelText[]): number {
  const renewed = new Map(labels.map((label) => [label.id, label]))
  const kept = chosen.value.map((label) => renewed.get(label.id) ?? label)
  const known = new Set(kept.map(({ id }) => id))
  const added = labels.filter(({ id }) => !known.has(id))
  const room = MOST_LABELS - kept.length
  chosen.value = [...kept, ...added.slice(0, room)]
  return Math.max(0, added.length - room)
}

export function remove(id: bigint): void {
  chosen.value = chosen.value.filter((label) => label.id !== id)
}

/** Adds labels for all plants that match, up to MOST_LABELS. @returns whether some found no room */
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
