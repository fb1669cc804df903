import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertAtBothSizes } from '../support/accessible.ts'
import { openMenu, openTools, pressOn, signIn, signOut } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { SECRET, type Service } from '../support/service.ts'

/** What only a person with a token may do, or see. */
const OF_TOKENS =
  /^(?:Add|Edit|Delete|Last actions|History|Export|Print|Labels|Stocktake|Count|Import|Same|Save|Tokens|Webhooks)/

const hasPlants = async (service: Service): Promise<void> => {
  await service.create({ id: 1, name: 'Aloe vera', tag: 'house/a' })
  await service.create({ id: 2, name: 'Rosa canina', tag: 'bed' })
}

/** The names of controls and headings that only a person with a token may have. */
const ofTokens = async (page: Page): Promise<string[]> => {
  const roles = ['button', 'link', 'heading'] as const
  const names = (await Promise.all(roles.map((role) => page.getByRole(role).allInnerTexts()))).flat()
  return names.map((name) => name.trim()).filter((name) => OF_TOKENS.test(name))
}

suite('a visitor of the public view', () => {
  const { inBrowser, onPhone } = pageTests({ settings: async () => ({ public: 'house/' }), token: null })

  onPhone('searches and reads, and is offered nothing else', async ({ page, service }) => {
    await hasPlants(service)
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() >= 400) refused.push(answer.url())
    })
    await page.reload()
    await page.getByRole('link', { name: '1', exact: true }).waitFor()
    assert.equal(await page.getByText('Rosa canina').count(), 0)
    await openTools(page)
    assert.deepEqual(await ofTokens(page), [])
    assert.equal(await page.getByRole('checkbox').count(), 0)
    await assertAtBothSizes(page)
    await page.getByRole('searchbox').fill('alo')
    await page.getByRole('link', { name: '1', exact: true }).click()
    await page.getByRole('heading', { name: 'Aloe vera' }).waitFor()
    assert.deepEqual(await ofTokens(page), [])
    await assertAccessible(page)
    assert.deepEqual(refused, [])
  })

  onPhone('sees the plant of a label in its language', { locale: 'de-AT' }, async ({ page, address, service }) => {
    await hasPlants(service)
    await page.goto(`${address}#plant?id=1`)
    await page.getByRole('heading', { name: 'Aloe vera' }).waitFor()
    await openMenu(page)
    await page.getByRole('button', { name: 'Anmelden', exact: true }).waitFor()
    await assertAtBothSizes(page)
  })

  inBrowser('signs in from the menu at a plant, and is a visitor again later', async ({ page, address, service }) => {
    await hasPlants(service)
    await page.goto(`${address}#plant?id=1`)
    await page.getByRole('heading', { name: 'Aloe vera' }).waitFor()
    await openMenu(page)
    await pressOn(page, page.getByRole('button', { name: 'Sign in', exact: true }))
    await page.getByRole('button', { name: 'Look without signing in' }).waitFor()
    await signIn(page, SECRET)
    await page.getByRole('button', { name: 'Edit: 1' }).waitFor()
    await page.getByRole('heading', { name: 'History' }).waitFor()
    const mine = await ofTokens(page)
    for (const name of ['Edit', 'Stocktake', 'Labels', 'History']) assert.ok(mine.includes(name), `${name}: ${mine}`)
    await signOut(page)
    await page.getByRole('button', { name: 'Edit: 1' }).waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Aloe vera' }).waitFor()
    assert.deepEqual(await ofTokens(page), [])
    await openMenu(page)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  })

  inBrowser('follows the link of a list by last changes, which needs a token', async ({ page, address, service }) => {
    await hasPlants(service)
    await page.goto(`${address}#plants?tagPrefix=house/&sort=-changed`)
    await page.reload()
    await page.getByRole('link', { name: '1', exact: true }).waitFor()
    assert.equal(await page.getByLabel('Access token').count(), 0)
  })

  inBrowser('is told that a page of people with a token needs one, and signs in there', async ({ page, address }) => {
    for (const view of ['deleted', 'tokens', 'actions']) {
      await page.goto(`${address}#${view}`)
      await page.getByText('Only people who sign in see this page.').waitFor()
      await page.reload()
    }
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }))
    await signIn(page, SECRET)
    await page.getByRole('heading', { name: 'Last actions' }).waitFor()
  })

  inBrowser('goes on without signing in, and signs in by a link without a question', async ({ page, address }) => {
    await openMenu(page)
    await pressOn(page, page.getByRole('button', { name: 'Sign in', exact: true }))
    await pressOn(page, page.getByRole('button', { name: 'Look without signing in' }))
    await page.getByRole('searchbox').waitFor()
    await page.goto(`${address}#token=${SECRET}`)
    await page.getByRole('button', { name: 'Add a plant' }).waitFor()
  })

  inBrowser('is told that a kept token was refused', { remembers: 'ps_nonsense' }, async ({ page }) => {
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Access token').waitFor()
    await page.getByRole('button', { name: 'Look without signing in' }).waitFor()
  })
})
