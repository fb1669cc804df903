import { computed, signal } from '@preact/signals'
import { keepStored, onForgotten, storedAs } from '../page/stored.ts'
import type { SameName } from './same-names.ts'

/** Plants of one name that are different plants, as a person has said on this device. */
interface NotSame {
  readonly key: string
  readonly ids: readonly string[]
}

const KEY = storedAs('plantstore-not-same')
/** The most names that the browser keeps. A new one replaces the oldest. */
const MOST = 1000

const isNotSame = (value: unknown): value is NotSame =>
  typeof value === 'object' &&
  value !== null &&
  'key' in value &&
  typeof value.key === 'string' &&
  'ids' in value &&
  Array.isArray(value.ids) &&
  value.ids.every((id) => typeof id === 'string')

const hidden = signal<readonly NotSame[]>(kept())
const idsOf = computed(() => new Map(hidden.value.map(({ key, ids }) => [key, new Set(ids)])))

onForgotten(() => {
  hidden.value = kept()
})

/** Whether a person has said here that these are different plants. A plant that came later shows the name again. */
export function isHidden({ key, plants }: SameName): boolean {
  const ids = idsOf.value.get(key)
  return ids !== undefined && plants.every(({ id }) => ids.has(String(id)))
}

export function hide({ key, plants }: SameName): void {
  const others = hidden.value.filter((each) => each.key !== key)
  keep([...others, { key, ids: plants.map(({ id }) => String(id)) }].slice(-MOST))
}

export const showAll = (): void => keep([])

function kept(): readonly NotSame[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(found) ? found.filter(isNotSame).slice(-MOST) : []
  } catch {
    return []
  }
}

function keep(next: readonly NotSame[]): void {
  hidden.value = next
  try {
    keepStored('plantstore-not-same', JSON.stringify(next))
  } catch {
    // The browser has no room: they are hidden until the page is loaded again.
  }
}
