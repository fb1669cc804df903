import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Route } from 'playwright-core'
import { assertAccessible } from '../support/accessible.ts'
import { pageTests } from '../support/page.ts'
import { intercept, NO_NETWORK, withoutWaits } from '../support/page-network.ts'
import { line, nothingWaits, rename, rowOf } from '../support/page-plants.ts'

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
  const { inBrowser } = pageTests({ expected: NO_NETWORK })

  inBrowser('stays where the service refuses a further one of its plant', async ({ page, service }) => {
    await service.create({ id: 1, name: 'Corylus' })
    await rowOf(page, 1).waitFor()
    const end = await intercept(
      page,
      '**/plants/1',
      refusing({
        PATCH: PORTAL,
        DELETE: { status: 403, json: { error: 40301, message: 'the token lacks the scope plants:write' } },
      }),
    )
    await rename(page, 1, 'Corylus avellana')
    await line(page, '1 change waits on this device.')
    await rowOf(page, 1).press('Delete')
    await page.locator('.notice.error').waitFor()
    await line(page, '1 change waits on this device.')
    await end()
    await rename(page, 1, 'Corylus colurna')
    await nothingWaits(page)
    assert.equal((await service.send('GET', '/plants/1')).body, '{"id":1,"name":"Corylus colurna"}')
  })

  inBrowser('holds no other up when it fails, says why, and is tried again', async ({ page, context, service }) => {
    for (const id of [4, 5]) await service.create({ id, name: `Acer ${id}` })
    await page.clock.install()
    await page.reload()
    await rowOf(page, 5).waitFor()
    const fault = { status: 500, json: { error: 50001, message: 'An unexpected error occurred.' } }
    const end = await intercept(page, '**/plants/4', refusing({ PATCH: fault }))
    await context.setOffline(true)
    await rename(page, 4, 'Acer campestre')
    await rename(page, 5, 'Acer negundo')
    await line(page, '2 changes wait on this device.')
    await context.setOffline(false)
    await line(page, '1 change waits on this device. 1 needs your decision.')
    assert.equal((await service.send('GET', '/plants/5')).body, '{"id":5,"name":"Acer negundo"}')
    await page.getByRole('link', { name: 'Show them' }).click()
    await line(page, 'Something went wrong in the service.')
    await page.getByRole('button', { name: 'Edit: 4 Acer campestre' }).waitFor()
    await page.getByRole('button', { name: 'Drop: 4 Acer campestre' }).waitFor()
    await assertAccessible(page)
    await end()
    await withoutWaits(page, page.getByText('Nothing waits.'))
    assert.equal((await service.send('GET', '/plants/4')).body, '{"id":4,"name":"Acer campestre"}')
  })

  inBrowser('shows its new plant at its label, though the service has none', async ({ page, address, context }) => {
    await page.goto(`${address}#/plant?id=6`)
    const fault = { status: 500, json: { error: 50001, message: 'An unexpected error occurred.' } }
    await intercept(page, '**/plants', refusing({ POST: fault }))
    await page.getByLabel('Name').fill('Salix alba')
    await context.setOffline(true)
    await page.getByLabel('Name').press('Enter')
    await line(page, '1 change waits on this device.')
    await context.setOffline(false)
    await line(page, '1 change waits on this device. 1 needs your decision.')
    await page.reload()
    await rowOf(page, 6).getByText('Salix alba').waitFor()
  })
})
