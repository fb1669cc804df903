import { signal } from '@preact/signals'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { onSignOut } from '../session.ts'
import type { LabelText } from './layout.ts'

/** Labels of one document: about two megabytes, and some seconds to draw. */
export const MOST_LABELS = 1000

/** The labels that are to be printed, in their order. They stay while the person looks at other views. */
export const chosen = signal<readonly LabelText[]>([])

export const clearChosen = (): void => {
  chosen.value = []
}
onSignOut(clearChosen)

export const isChosen = (id: bigint): boolean => chosen.value.some((label) => label.id === id)

export const labelOf = ({ id, name, tag }: StoredPlant): LabelText => ({ id, name, tag })

/** Adds labels, as many as there is room for; one whose id is chosen already renews it. @returns how many were left out */
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

/** Adds all plants that match, as many as there is room for. @returns whether some were left out */
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

/** Labels for plants to come, with reserved ids. */
export async function addReserved(client: PlantstoreClient, count: number): Promise<readonly [bigint, bigint]> {
  const { first, last } = await client.reserveIds(count)
  add(Array.from({ length: count }, (_, i) => ({ id: first + BigInt(i), name: '', tag: undefined })))
  return [first, last]
}
