import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { intercept, pageTests } from '../support/page.ts'

const line = (page: Page, text: string): Promise<void> => page.getByText(text).waitFor()

async function edit(page: Page, id: number, name: string): Promise<void> {
  await page.locator(`[role=row][data-id="${id}"]`).press('Enter')
  await page.getByLabel(`Name of ${id}`).fill(name)
  await page.keyboard.press('Enter')
  await page.getByLabel(`Name of ${id}`).waitFor({ state: 'detached' })
}

/** The answer of a network that wants a sign-in of its own. */
const PORTAL = { status: 403, contentType: 'text/html', body: 'Sign in to this network' }

/** Answers the requests of these methods in the place of the service. */
const refusing =
  (answers: Readonly<Record<string, Parameters<Route['fulfill']>[0]>>) =>
  async (route: Route): Promise<void> => {
    const answer = answers[route.request().method()]
    await (answer === undefined ? route.continue() : route.fulfill(answer))
  }

suite('a change that waits', () => {
  const inBrowser = pageTests()

  inBrowser('stays where the service refuses a further one of its plant', async ({ page, service }) => {
    await service.create({ id: 1, name: 'Corylus' })
    await page.locator('[role=row][data-id="1"]').waitFor()
    const end = await intercept(
      page,
      '**/plants/1',
      refusing({
        PATCH: PORTAL,
        DELETE: { status: 403, json: { error: 40301, message: 'the token lacks the scope plants:write' } },
      }),
    )
    await edit(page, 1, 'Corylus avellana')
    await line(page, '1 change waits on this device.')
    await page.locator('[role=row][data-id="1"]').press('Delete')
    await page.locator('.notice.error').waitFor()
    await line(page, '1 change waits on this device.')
    await end()
    await edit(page, 1, 'Corylus colurna')
    await page.locator('.waiting-line a').waitFor({ state: 'detached' })
    assert.equal((await service.send('GET', '/plants/1')).body, '{"id":1,"name":"Corylus colurna"}')
  })

  inBrowser('is not refused by a proxy on the way, and holds no other one up', async ({ page, service }) => {
    for (const id of [2, 3]) await service.create({ id, name: `Ribes ${id}` })
    await page.locator('[role=row][data-id="3"]').waitFor()
    const end = await intercept(page, '**/plants/2', refusing({ PATCH: PORTAL }))
    await edit(page, 2, 'Ribes rubrum')
    await line(page, '1 change waits on this device.')
    await edit(page, 3, 'Ribes nigrum')
    await line(page, '1 change waits on this device.')
    assert.equal((await service.send('GET', '/plants/3')).body, '{"id":3,"name":"Ribes nigrum"}')
    assert.equal(await page.getByText('need your decision').or(page.getByText('needs your decision')).count(), 0)
    await end()
    await edit(page, 3, 'Ribes aureum')
    await page.locator('.waiting-line a').waitFor({ state: 'detached' })
    assert.equal((await service.send('GET', '/plants/2')).body, '{"id":2,"name":"Ribes rubrum"}')
  })
})
