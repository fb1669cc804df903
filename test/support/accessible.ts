import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { DESKTOP, PHONE } from './page.ts'
import { until as untilHolds } from './until.ts'

/**
 * Fails if a view is not accessible, or wider than its window at 360 or at 1280 pixels. Keeps the window as it is. That
 * the other size is accessible too is the matter of the tour, `test/page/languages.test.ts`.
 */
export async function assertAtBothSizes(page: Page): Promise<void> {
  const isPhone = page.viewportSize()?.width === PHONE.width
  await page.setViewportSize(isPhone ? DESKTOP : PHONE)
  await assertFits(page)
  await page.setViewportSize(isPhone ? PHONE : DESKTOP)
  await assertAccessible(page)
}

/** The rules that axe runs in each colour scheme: only one depends on the colours. */
const COLOURS = [
  ['light', {}],
  ['dark', { runOnly: ['color-contrast'] }],
] as const

/** Fails if axe finds anything at all, in light or in dark colours. */
export async function assertFaultless(page: Page, what: string): Promise<void> {
  for (const [colorScheme, rules] of COLOURS) {
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await faultsIn(page, rules), [], `${what}, ${colorScheme}`)
  }
  await page.emulateMedia({ colorScheme: null })
}

/**
 * Fails if axe finds a serious or critical fault, or contents in no landmark, in light or in dark colours, or if the page
 * is wider than its window. What the tour of `test/page/looks.test.ts` shows needs no further look.
 */
export async function assertAccessible(page: Page): Promise<void> {
  await assertFits(page)
  for (const [colorScheme, rules] of COLOURS) {
    await page.emulateMedia({ colorScheme })
    const found = await faultsIn(page, rules)
    const faults = found.filter(({ id, impact }) => id === 'region' || impact === 'serious' || impact === 'critical')
    assert.deepEqual(faults, [], colorScheme)
  }
  await page.emulateMedia({ colorScheme: null })
}

/** Half the size of the readable script, which each page reads anew. */
const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** What axe looks at: of a table, the first rows and those that a person edits, because the others are like them. */
const LOOKED_AT = `{ exclude: [['[role=row]:nth-child(n + 12):not(.editing)']] }`

/** What axe finds by some rules; {}: by all. */
async function faultsIn(
  page: Page,
  rules: { readonly runOnly?: readonly string[] },
): Promise<readonly { readonly id: string; readonly impact: string }[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE)
  // A third of the time goes into selectors, and into what is right.
  const options = { ...rules, resultTypes: ['violations'], selectors: false }
  return page.evaluate(
    `axe.run(${LOOKED_AT}, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, impact, nodes }) =>
      ({ id, impact, nodes: nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary) })))`,
  )
}

/** Fails if the page or an open panel stays too wide: after a change of the window, some parts follow in the next frames. */
export async function assertFits(page: Page): Promise<void> {
  let found: readonly number[] | null = null
  const fits = async () => {
    found = await page.evaluate<[number, number] | null>(`
      [[document.documentElement.scrollWidth, innerWidth],
        ...[...document.querySelectorAll('.panel')].filter((panel) => panel.checkVisibility())
          .map(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])]
        .find(([wide, room]) => wide > room) ?? null`)
    return found === null
  }
  await untilHolds(fits, () => `the page or a panel is ${found?.join(' pixels wide in room for ')}`)
}

/** The least height and width of what a finger hits, in CSS pixels. */
const FINGER = 44

/** Fails if a control is too small for a finger. Links within a sentence are as high as its line. */
export async function assertForFingers(page: Page): Promise<void> {
  assert.ok(await page.evaluate<boolean>(`matchMedia('(pointer: coarse)').matches`), 'the context has no touch screen')
  const small = await page.evaluate<readonly string[]>(`
    [...document.querySelectorAll('a, button, input, select, textarea, summary')]
      .filter((control) => control.checkVisibility() && getComputedStyle(control).display !== 'inline')
      .map((control) => [control, (control.closest('label') ?? control).getBoundingClientRect()])
      .filter(([, { width, height }]) => Math.min(width, height) < ${FINGER - 0.5})
      .map(([control, { width, height }]) => control.outerHTML.slice(0, 120) + ' ' + width + ' x ' + height)`)
  assert.deepEqual(small, [])
}
