import { computed, signal } from '@preact/signals'
import type { StoredPlant } from '../../../client/src/index.ts'
import type { Filter } from './filter.ts'

/** What an action on many plants changes: plants as the person has seen them, or all that a filter finds. */
export type Targets =
  | { readonly kind: 'chosen'; readonly plants: readonly StoredPlant[] }
  | { readonly kind: 'matching'; readonly filter: Filter; readonly without: ReadonlySet<bigint> }
  /** Plants that `read` reads as they are now. @param onRead called with their number so far */
  | {
      readonly kind: 'read'
      readonly read: (onRead: (count: number) => void, signal: AbortSignal) => Promise<readonly StoredPlant[]>
    }

/** The selected plants of a table. */
export class Selection {
  /** In the order of their selection. */
  readonly #chosen = signal<ReadonlyMap<bigint, StoredPlant>>(new Map())
  /** While all plants that match are selected, the ids of those that are not. */
  readonly #without = signal<ReadonlySet<bigint> | undefined>(undefined)
  /** Where a range begins. */
  #anchor: bigint | undefined

  /** The number of selected plants; undefined for all that match. */
  readonly count = computed(() => (this.#without.value === undefined ? this.#chosen.value.size : undefined))
  readonly isEmpty = computed(() => this.count.value === 0)
  readonly isAll = computed(() => this.#without.value !== undefined)
  /** How many plants were taken out of all that match. */
  readonly left = computed(() => this.#without.value?.size ?? 0)

  has(id: bigint): boolean {
    const without = this.#without.value
    return without === undefined ? this.#chosen.value.has(id) : !without.has(id)
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
  selectAll(): void {
    this.#chosen.value = new Map()
    this.#without.value = new Set()
  }

  clear(): void {
    this.#chosen.value = new Map()
    this.#without.value = undefined
    this.#anchor = undefined
  }

  targets(filter: Filter): Exclude<Targets, { kind: 'read' }> {
    const without = this.#without.value
    if (without !== undefined) return { kind: 'matching', filter, without }
    return { kind: 'chosen', plants: [...this.#chosen.value.values()] }
  }

  #set(plants: readonly StoredPlant[], isOn: boolean): void {
    const without = this.#without.value
    if (without !== undefined) {
      const ids = new Set(plants.map(({ id }) => id))
      this.#without.value = isOn ? without.difference(ids) : without.union(ids)
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
