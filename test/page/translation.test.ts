import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { BrowserContext, Request } from 'playwright-core'
import { pageTests } from '../support/page.ts'
import { plantSome, tour } from '../support/page-languages.ts'
import { SECRET, withService } from '../support/service.ts'
import { translator } from '../support/translator.ts'

/** What no two runs have in common: secrets, ids of tokens, times, ports. */
const VARYING = /ps_\w+|tok_\w+|\d+:\d\d(:\d\d)?|127\.0\.0\.1:\d+/g

/** The texts at each stop of a tour, with names in Greek letters where the browser would translate them. */
async function texts(context: BrowserContext, address: string): Promise<readonly string[]> {
  const page = await context.newPage()
  const asked = new Set<Request>()
  page.on('request', (request) => {
    // The stream of changes never ends.
    if (!request.url().includes('/changes')) asked.add(request)
  })
  page.on('requestfinished', (request) => asked.delete(request))
  page.on('requestfailed', (request) => asked.delete(request))
  await page.goto(`${address}#token=${SECRET}`)
  await page.getByRole('search').waitFor()
  const found: string[] = []
  await tour(page, address, async (what) => {
    // A translation comes a moment later; texts that are still on their way do as well, such as why there is no camera.
    let [before, now] = ['', await page.locator('body').innerText()]
    while (before !== now || asked.size > 0 || now.includes('Opening the camera')) {
      await page.evaluate('new Promise((done) => setTimeout(done, 50))')
      ;[before, now] = [now, await page.locator('body').innerText()]
    }
    const open = await page.evaluate<readonly string[]>(`(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      const found = []
      while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode
        const isKept = parentElement.closest('[translate=no], textarea, option, noscript') !== null
        if (/[Ρρ]όδον|[Ἄἄ]βρωτον|θάμνος|πόα|κλείς/.test(data) && !isKept) found.push(parentElement.outerHTML)
      }
      return found
    })()`)
    assert.deepEqual(open, [], what)
    found.push(`${what}: ${now.replaceAll(VARYING, '')}`)
  })
  await page.close()
  return found
}

suite('the page, under the translation of a browser,', () => {
  const { inBrowser, onPhone } = pageTests()

  onPhone('says in every view what it says without one, and leaves names and tags alone', async (opened) => {
    const { context, service, address, t } = opened
    await plantSome(service)
    const plain = await texts(context, address)
    const other = await withService(t, {})
    await plantSome(other)
    await context.addInitScript(translator('text'))
    const translated = await texts(context, `http://127.0.0.1:${other.port}/`)
    assert.equal(translated.length, plain.length)
    for (const [i, text] of plain.entries()) assert.equal(translated[i], text)
  })

  inBrowser('counts what is selected and keeps the order of its texts', async ({ page, context, address, service }) => {
    for (const id of [701, 702, 703]) await service.create({ id, name: `Translated ${id}`, tag: 'bed' })
    await context.addInitScript(translator('text.toUpperCase()'))
    await page.goto(`${address}#/plants?q=translated`)
    await page.reload()
    for (const [i, id] of [701, 702, 703].entries()) {
      await page.getByLabel(`Select ${id}`, { exact: true }).click()
      await page
        .locator('.selection')
        .getByText(i === 0 ? '1 PLANT SELECTED' : `${i + 1} PLANTS SELECTED`, { exact: true })
        .waitFor()
    }
    await page.locator('.selection').getByText('DELETE', { exact: true }).first().click()
    await page.getByRole('dialog').getByText('DELETE 3 PLANTS', { exact: true }).waitFor()
    assert.deepEqual(await page.getByRole('dialog').locator('li').allTextContents(), [
      'Translated 701',
      'Translated 702',
      'Translated 703',
    ])
    await page.keyboard.press('Escape')
    await page.getByLabel('Select 702', { exact: true }).click()
    await page.locator('.selection').getByText('2 PLANTS SELECTED', { exact: true }).waitFor()
    assert.equal(await page.locator('[role=row][data-id="701"] .id').getAttribute('translate'), 'no')
    assert.equal(await page.locator('[role=row][data-id="701"] .name').innerText(), 'Translated 701')
    assert.equal(await page.locator('[role=row][data-id="701"] .tag').innerText(), 'bed')
  })
})
