import type { Locator } from 'playwright-core'
import type { Measure } from '../../web/src/labels/text.ts'
import { DEFAULT_LINES, type Wording } from '../../web/src/labels/wording.ts'
import { until } from './until.ts'

/** Estimates the width of a text in a sans serif font without a browser. */
export const measure: Measure = (text, size, style) => [...text].length * size * (style === 'bold' ? 0.56 : 0.52)

/** The texts that labels have by default. */
export const WORDING: Wording = { lines: DEFAULT_LINES, isItalic: false, date: '27 Nov 2026' }

/** Waits until this many elements match. The content security policy forbids waiting functions inside the page. */
export async function untilCount(locator: Locator, count: number): Promise<void> {
  let now = -1
  await until(
    async () => {
      now = await locator.count()
      return now === count
    },
    () => `there are ${now} of ${locator}, not ${count}`,
  )
}
