import type { ComponentChildren } from 'preact'
import { type Given, partsOf } from './language.ts'
import type { Key } from './texts.ts'

/** Returns a text whose values may be elements. */
export function sayWith<K extends Key>(key: K, ...[values]: Given<K, ComponentChildren>): ComponentChildren {
  return partsOf<ComponentChildren>(key, values)
}
