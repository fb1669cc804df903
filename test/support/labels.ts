import { setTimeout as sleep } from 'node:timers/promises'
import type { Locator } from 'playwright-core'
import type { Measure } from '../../web/src/labels/text.ts'

/** About as wide as the letters of a sans serif font are; a browser knows exactly. */
export const measure: Measure = (text, size, weight) => [...text].length * size * (weight === 700 ? 0.56 : 0.52)

/** Waits until there are so many of them; the policy of the page forbids functions that wait inside of it. */
export async function untilCount(locator: Locator, count: number): Promise<void> {
  while ((await locator.count()) !== count) await sleep(20)
}
