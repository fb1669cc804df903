import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAtBothSizes } from '../support/accessible.ts'
import { pressOn, untilFocused } from '../support/by-keyboard.ts'
import { hide, pageTests, until } from '../support/page.ts'
import { holdAnswers, intercept } from '../support/page-network.ts'
import { fill, patchPlant, rowOf, stored, untilShown } from '../support/page-plants.ts'
import type { Service } from '../support/service.ts'
import { until as untilHolds } from '../support/until.ts'

/** The streams of changes that the service has open. */
async function streamsOf(service: Service): Promise<number> {
  const { body } = await service.send('GET', '/metrics')
  return Number(/^plantstore_change_streams (\d+)$/m.exec(body)?.[1])
}

/** Waits until the service has as many streams of changes. */
const untilStreams = (service: Service, count: number, fault: string): Promise<void> =>
  untilHolds(async () => (await streamsOf(service)) === count, fault)

/** Waits until the page has seen where it is scrolled to. */
const frames = (page: Page): Promise<void> =>
  page.evaluate('new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(seen, 50))))')

suite('the page, while others change plants,', () => {
  const { inBrowser, onPhone } = pageTests()

  inBrowser('shows their plants, changes and deletions, and keeps what the person types', async ({ page, service }) => {
    for (const id of [1, 2, 3]) await service.create({ id, name: `Live ${id}` })
    await page.getByLabel('Search plants').fill('live')
    await untilShown(page, [1, 2, 3])
    await rowOf(page, 2).focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('Name: 2').fill('Live, as typed')
    await untilStreams(service, 1, 'the page opens no stream')
    await patchPlant(service, 1, { name: 'Live, but changed' })
    await rowOf(page, 1).getByText('Live, but changed').waitFor()
    await service.create({ id: 0, name: 'Live 0' })
    await untilShown(page, [0, 1, 2, 3])
    await service.send('DELETE', '/plants/3')
    await service.send('DELETE', '/plants/2')
    await rowOf(page, 3).waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Name: 2').inputValue(), 'Live, as typed')
    await page.getByRole('button', { name: 'Cancel' }).click()
  })

  inBrowser('leaves the person in the row when a search is answered', async ({ page, service }) => {
    await fill(service, 500, 150, 'Stay')
    await page.getByLabel('Search plants').fill('stay')
    await rowOf(page, 500).waitFor()
    const answer = await holdAnswers(page, /[?&]q=sta&/)
    const answered = page.waitForResponse(/[?&]q=sta&/)
    await page.getByLabel('Search plants').fill('sta')
    await answer.untilHeld()
    await rowOf(page, 501).focus()
    answer()
    await (await answered).finished()
    await frames(page)
    await page.keyboard.press('Enter')
    await untilFocused(page, page.getByLabel('Name: 501'))
  })

  inBrowser('has one stream for all tabs, none while all are hidden', async ({ page, service, context, address }) => {
    await untilStreams(service, 1, 'the page opens no stream')
    const second = await context.newPage()
    await second.goto(`${address}#token=${await page.evaluate<string>(`sessionStorage.getItem('plantstore-token')`)}`)
    await second.getByLabel('Search plants').fill('tabs')
    await second.getByText('No plant matches.').waitFor()
    await page.getByLabel('Search plants').fill('tabs')
    await page.getByText('No plant matches.').waitFor()
    await service.create({ id: 50, name: 'Tabs' })
    await rowOf(page, 50).waitFor()
    await rowOf(second, 50).waitFor()
    assert.equal(await streamsOf(service), 1)
    await hide(page, true)
    await untilStreams(service, 1, 'the other tab opens no stream')
    await hide(second, true)
    await untilStreams(service, 0, 'hidden tabs keep a stream')
    await service.create({ id: 51, name: 'Tabs' })
    await hide(page, false)
    await rowOf(page, 51).waitFor()
    await second.close()
  })

  inBrowser('shows what changed between two streams', async ({ page, service }) => {
    await page.clock.install()
    await page.reload()
    await page.getByLabel('Search plants').fill('gap')
    await page.getByText('No plant matches.').waitFor()
    await untilStreams(service, 1, 'the page opens no stream')
    // Before the burst: the page opens the next stream after 10 s, which may pass here on a busy machine.
    const begin = await holdAnswers(page, '**/changes?*')
    const asked = page.waitForRequest('**/changes?*')
    await fill(service, 10_000, 400, 'Burst')
    await untilStreams(service, 0, 'the page follows each of many changes')
    await page.clock.fastForward(10_000)
    await asked
    await page.clock.fastForward(5000)
    await service.create({ id: 60, name: 'Gap' })
    begin()
    await rowOf(page, 60).waitFor()
  })

  inBrowser('shows what changed before its stream began', async ({ page, service }) => {
    const begin = await holdAnswers(page, '**/changes?*')
    await page.reload()
    await page.getByLabel('Search plants').fill('early')
    await page.getByText('No plant matches.').waitFor()
    await service.create({ id: 70, name: 'Early' })
    begin()
    await rowOf(page, 70).waitFor()
  })

  inBrowser('shows no plant twice that it reads for the person and for others at once', async ({ page, service }) => {
    await fill(service, 20_000, 230, 'Once')
    await page.reload()
    await page.getByLabel('Search plants').fill('once')
    await rowOf(page, 20_099).waitFor()
    await untilStreams(service, 1, 'the page opens no stream')
    const [reread, scrolled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await intercept(page, /plants\?.*limit=/, async (route) => {
      await (route.request().url().includes('cursor=') ? scrolled : reread).promise
      await route.continue()
    })
    const rereads = page.waitForRequest(/plants\?(?!.*(?:cursor|count)=).*limit=/)
    await service.create({ id: 19_999, name: 'Once' })
    const answered = page.waitForResponse(async (response) => response.request() === (await rereads))
    await rereads
    const scrolls = page.waitForRequest(/cursor=/)
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await scrolls
    reread.resolve()
    await (await answered).finished()
    for (const place of ['0', 'document.body.scrollHeight']) {
      await frames(page)
      await page.evaluate(`scrollTo(0, ${place})`)
    }
    await frames(page)
    scrolled.resolve()
    // It reads both again, for their answers have overtaken each other.
    for (const [place, row] of [
      ['0', '[data-id="19999"][aria-rowindex="2"]'],
      ['document.body.scrollHeight', '[data-id="20229"][aria-rowindex="232"]'],
    ] as const) {
      const isThere = async () => {
        await page.evaluate(`scrollTo(0, ${place})`)
        return (await page.locator(row).count()) > 0
      }
      await untilHolds(isThere, `the page does not show ${row}`)
    }
    await page.getByText('That is all.').waitFor()
  })

  inBrowser('shows in its view that a plant is deleted, back, and changed meanwhile', async (opened) => {
    const { page, service, address } = opened
    await service.create({ id: 40, name: 'Gone' })
    await page.goto(`${address}#/plant?id=40`)
    await rowOf(page, 40).waitFor()
    await untilStreams(service, 1, 'the page opens no stream')
    await service.send('DELETE', '/plants/40')
    await page.getByText('This plant was deleted.').waitFor()
    await service.create({ id: 40, name: 'Found' })
    await rowOf(page, 40).getByText('Found').waitFor()
    await hide(page, true)
    await untilStreams(service, 0, 'a hidden tab keeps a stream')
    await patchPlant(service, 40, { name: 'Meanwhile' })
    await hide(page, false)
    await rowOf(page, 40).getByText('Meanwhile').waitFor()
  })

  onPhone('shows the history of a plant, and restores earlier states, by keyboard alone', async ({ page, service }) => {
    const id = 101
    await service.create({ id, name: 'Hoya first', tag: 'old' })
    await patchPlant(service, id, { name: 'Hoya second', tag: null })
    await patchPlant(service, id, { name: 'Hoya third' })
    await page.getByLabel('Search plants').fill('hoya third')
    await untilShown(page, [id])
    await pressOn(page, rowOf(page, id).getByRole('link', { name: String(id), exact: true }))
    const history = page.getByRole('region', { name: 'History' })
    await history.getByText('Added').waitFor()
    assert.equal(await history.getByRole('listitem').count(), 3)
    await pressOn(page, history.getByRole('button', { name: 'Restore: Hoya first' }))
    await page.getByText(`Saved ${id}`).waitFor()
    assert.deepEqual(await stored(service, id), ['101 Hoya first (old)'])
    await until(page, `document.querySelectorAll('.history li').length === 4`)
    await service.send('DELETE', `/plants/${id}`)
    await page.reload()
    await history.getByText('Deleted').waitFor()
    await assertAtBothSizes(page)
    await pressOn(page, history.getByRole('button', { name: 'Restore: Hoya first' }).first())
    await rowOf(page, id).waitFor()
    assert.deepEqual(await stored(service, id), ['101 Hoya first (old)'])
  })

  inBrowser('overwrites nobody while it restores', async ({ page, service, address }) => {
    await service.create({ id: 200, name: 'Contested' })
    await patchPlant(service, 200, { name: 'Contested, later' })
    await page.goto(`${address}#/plant?id=200`)
    await page.getByRole('button', { name: 'Restore: Contested' }).waitFor()
    await intercept(page, '**/plants/200', async (route) => {
      if (route.request().method() === 'PATCH') await patchPlant(service, 200, { name: 'Theirs' })
      await route.continue()
    })
    await page.getByRole('button', { name: 'Restore: Contested' }).click()
    await page.getByText('“Restore: 200” failed. Somebody has changed or deleted it meanwhile.').waitFor()
    assert.deepEqual(await stored(service, 200), ['200 Theirs'])
  })
})
