import { computed, signal } from '@preact/signals'
import type { StoredPlant } from '../../../../client/src/index.ts'
import { type Filter, findSame } from './filter.ts'

/** What an action on many plants changes: plants as the person has seen them, or all that a filter finds. */
export type Targets =
  | { readonly kind: 'chosen'; readonly plants: readonly StoredPlant[] }
  | { readonly kind: 'matching'; readonly filter: Filter; readonly without: ReadonlySet<bigint> }
  /** Plants that `read` reads as they are now. @param onRead called with their number so far */
  | {
      readonly kind: 'read'
      readonly ids: readonly bigint[]
      readonly read: (onRead: (count: number) => void, signal: AbortSignal) => Promise<readonly StoredPlant[]>
    }

type Matching = Extract<Targets, { readonly kind: 'matching' }>

/** The selected plants of a table. */
export class Selection {
  /** In the order of their selection. */
  readonly #chosen = signal<ReadonlyMap<bigint, StoredPlant>>(new Map())
  /** While all plants that match are selected, the filter, and the ids of those that are not. */
  readonly #matching = signal<Matching | undefined>(undefined)
  /** Where a range begins. */
  #anchor: bigint | undefined

  /** The number of selected plants; undefined for all that match. */
  readonly count = computed(() => (this.#matching.value === undefined ? this.#chosen.value.size : undefined))
  readonly isEmpty = computed(() => this.count.value === 0)
  readonly isAll = computed(() => this.#matching.value !== undefined)
  /** How many plants were taken out of all that match. */
  readonly left = computed(() => this.#matching.value?.without.size ?? 0)

  has(id: bigint): boolean {
    const matching = this.#matching.value
    return matching === undefined ? this.#chosen.value.has(id) : !matching.without.has(id)
  }

  /** The number of selected plants that are not among some. */
  countOutside(ids: ReadonlySet<bigint>): number {
    return [...this.#chosen.value.keys()].filter((id) => !ids.has(id)).length
  }

  /** Selects or leaves a plant, and begins a range there. */
  toggle(plant: StoredPlant): void {
    this.#set([plant], !this.has(plant.id))
    this.#anchor = plant.id
  }

  /** Selects or leaves the plants from the beginning of the range to this one. @param plants those of the table */
  toggleTo(plant: StoredPlant, plants: readonly StoredPlant[]): void {
    const to = plants.findIndex(({ id }) => id === plant.id)
    const from = plants.findIndex(({ id }) => id === this.#anchor)
    if (from === -1) this.toggle(plant)
    else this.#set(plants.slice(Math.min(from, to), Math.max(from, to) + 1), !this.has(plant.id))
  }

  /** Selects all plants that match the filter of the table. */
  selectAll(filter: Filter): void {
    this.#chosen.value = new Map()
    this.#matching.value = { kind: 'matching', filter, without: new Set() }
  }

  /** Forgets all plants that match, unless it is those of this filter: nobody has seen which ones another one finds. */
  keepOnly(filter: Filter): void {
    const matching = this.#matching.value
    if (matching !== undefined && !findSame(matching.filter, filter)) this.clear()
  }

  clear(): void {
    this.#chosen.value = new Map()
    this.#matching.value = undefined
    this.#anchor = undefined
  }

  targets(): Exclude<Targets, { kind: 'read' }> {
    return this.#matching.value ?? { kind: 'chosen', plants: [...this.#chosen.value.values()] }
  }

  #set(plants: readonly StoredPlant[], isOn: boolean): void {
    const matching = this.#matching.value
    if (matching !== undefined) {
      const ids = new Set(plants.map(({ id }) => id))
      const without = isOn ? matching.without.difference(ids) : matching.without.union(ids)
      this.#matching.value = { ...matching, without }
      return
    }
    const chosen = new Map(this.#chosen.value)
    for (const plant of plants) {
      if (isOn) chosen.set(plant.id, plant)
      else chosen.delete(plant.id)
    }
    this.#chosen.value = chosen
  }
}
