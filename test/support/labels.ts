import { setTimeout as sleep } from 'node:timers/promises'
import type { Locator } from 'playwright-core'
import type { Measure } from '../../web/src/labels/text.ts'

/** Milliseconds, as for everything that a test waits for in a browser. */
const LONGEST = 60_000

/** Estimates the width of a text in a sans serif font without a browser. */
export const measure: Measure = (text, size, weight) => [...text].length * size * (weight === 700 ? 0.56 : 0.52)

/** Waits until this many elements match. The content security policy forbids waiting functions inside the page. */
export async function untilCount(locator: Locator, count: number): Promise<void> {
  const end = Date.now() + LONGEST
  for (;;) {
    const now = await locator.count()
    if (now === count) return
    if (Date.now() > end) throw new Error(`there are ${now} of ${locator}, not ${count}`)
    await sleep(20)
  }
}
