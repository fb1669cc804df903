import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertFaultless, assertFits } from '../support/accessible.ts'
import { assertLooks } from '../support/looks.ts'
import { pageTests } from '../support/page.ts'
import { plantSome, tour } from '../support/page-languages.ts'
import { rowOf } from '../support/page-plants.ts'

/** A window of 1280 by 1024 pixels at 400%. */
const ZOOMED = { width: 320, height: 256 }

/** The height of an element in CSS pixels. */
const heightOf = (page: Page, selector: string): Promise<number> =>
  page.locator(selector).evaluate((element) => element.getBoundingClientRect().height)

suite('the page looks finished', () => {
  const { inBrowser, onPhone } = pageTests()

  onPhone('in every view and dialog, in five languages, in light and dark', async ({ page, address, service }) => {
    await plantSome(service)
    assert.ok((await heightOf(page, '.remember')) <= 80)
    await tour(page, address, async (what) => {
      await assertLooks(page, what, async (where) => {
        await assertFits(page)
        const text = await page.locator('body').innerText()
        assert.ok(!/undefined|\[object|\{\w+\}/.test(text), `${where}: ${text}`)
        if (what === 'a selection') assert.ok((await heightOf(page, '.selection')) <= 64, `${where}: two lines`)
      })
      await assertFaultless(page, what)
    })
  })

  inBrowser('at 400%: what stays in sight takes at most a quarter', { viewport: ZOOMED }, async ({ page, service }) => {
    await plantSome(service)
    await page.getByRole('button', { name: 'Not now' }).click()
    for (const [what, open] of [
      ['the list', () => rowOf(page, 1).waitFor()],
      ['a selection', () => page.getByLabel('Select 1', { exact: true }).check()],
    ] as const) {
      await open()
      const taken = await page.evaluate<number>(`[...document.querySelectorAll('body *')]
          .filter((element) => ['fixed', 'sticky'].includes(getComputedStyle(element).position))
          .reduce((sum, element) => sum + element.getBoundingClientRect().height, 0)`)
      assert.ok(taken <= ZOOMED.height / 4, `${what}: ${taken} pixels`)
    }
  })
})
