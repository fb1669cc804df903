import { computed } from '@preact/signals'
import { isText, itemsIn, recordIn } from '../page/json.ts'
import { OnDevice } from '../page/on-device.ts'
import type { SameName } from './same-names.ts'

/** Plants of one name that are different plants, as a person has said on this device. */
interface NotSame {
  readonly key: string
  readonly ids: readonly string[]
}

/** The most names that the browser keeps. A new one replaces the oldest. */
const MOST = 1000

const isNotSame = (value: unknown): value is NotSame => {
  const { key, ids } = recordIn(value)
  return isText(key) && Array.isArray(ids) && ids.every(isText)
}

const hidden = new OnDevice('plantstore-not-same', (found) => itemsIn(found, isNotSame).slice(-MOST))
const idsOf = computed(() => new Map(hidden.value.map(({ key, ids }) => [key, new Set(ids)])))

/** Whether a person has said here that these are different plants. A plant that came later shows the name again. */
export function isHidden({ key, plants }: SameName): boolean {
  const ids = idsOf.value.get(key)
  return ids !== undefined && plants.every(({ id }) => ids.has(String(id)))
}

/** Where the browser has no room, they are hidden until the page is loaded again. */
export function hide({ key, plants }: SameName): void {
  const others = hidden.value.filter((each) => each.key !== key)
  hidden.keep([...others, { key, ids: plants.map(({ id }) => String(id)) }].slice(-MOST))
}

export const showAll = (): boolean => hidden.keep([])
