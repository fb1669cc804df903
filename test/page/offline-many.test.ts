import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAtBothSizes } from '../support/accessible.ts'
import { pressAction, pressOn, signIn, signOver } from '../support/by-keyboard.ts'
import { untilKept } from '../support/kept.ts'
import { pageTests } from '../support/page.ts'
import { changesOf, intercept, NO_NETWORK } from '../support/page-network.ts'
import {
  dialogOf,
  fill,
  line,
  nothingWaits,
  patchPlant,
  rename,
  rowOf,
  stored,
  untilSent,
} from '../support/page-plants.ts'
import { SECRET, type Service } from '../support/service.ts'
import { lockOut } from '../support/tokens.ts'

interface Listed {
  readonly title?: string
  readonly created: number
  readonly updated: number
  readonly deleted: number
}

/** The actions of a title. */
const actionsOf = async (service: Service, title: string): Promise<readonly Listed[]> =>
  ((await service.send('GET', '/actions')).json as readonly Listed[]).filter((action) => action.title === title)

suite('changes of many plants without a network', () => {
  const { inBrowser, onPhone } = pageTests({ expected: NO_NETWORK })

  inBrowser('wait as one, are one action, and ask about conflicts', async ({ page, context, service }) => {
    const [first, word, tag] = [1000, 'Hosta', 'bed']
    await fill(service, first, 5, word, 'old')
    await page.getByLabel('Search plants').fill(word)
    await rowOf(page, first + 4).waitFor()
    await context.setOffline(true)
    await rename(page, first + 3, `${word} nigra`)
    await line(page, '1 change waits on this device.')
    await rename(page, first + 4, `${word} alba`)
    await line(page, '2 changes wait on this device.')
    for (const id of [0, 1, 2, 4].map((i) => first + i)) await page.getByLabel(`Select ${id}`, { exact: true }).click()
    await pressAction(page, 'Set tag', 'Shift+Tab')
    await line(dialogOf(page), 'The service does not answer. This change waits on the device until it does.')
    await page.getByLabel('Tag', { exact: true }).fill(tag)
    await assertAtBothSizes(page)
    await dialogOf(page).getByRole('button', { name: 'Change 4 plants' }).click()
    await line(page, '4 plants wait on this device until the service answers.')
    await dialogOf(page).waitFor({ state: 'detached' })
    await rowOf(page, first).getByText(tag).waitFor()
    await rowOf(page, first).getByText('waits to be sent').waitFor()
    await page.getByRole('link', { name: 'Show them' }).click()
    const title = `Set tag: ${tag}`
    const waits = page.locator('.waiting li')
    const group = waits.filter({ hasText: title })
    await group.getByText('4 plants').waitFor()
    assert.equal(await waits.count(), 2, 'the edit is one with the change of its plant')
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('button', { name: `Drop: ${title}` }))
    await group.waitFor({ state: 'detached' })
    await pressOn(page, page.locator('.notice').getByRole('button', { name: 'Undo' }))
    await group.getByText('4 plants').waitFor()

    await patchPlant(service, first + 1, { name: 'Changed by others' })
    await service.send('DELETE', `/plants/${first + 2}`)
    const sent = changesOf(page)
    await context.setOffline(false)
    await line(page, '2 need your decision.')
    assert.equal(sent.filter((each) => each === 'POST /plants/import').length, 1)
    await line(page, 'Others have changed 2 plants meanwhile')
    await pressOn(page, page.getByRole('button', { name: `Decide: ${title}` }))
    await dialogOf(page).getByText('Others have changed 2 plants meanwhile').waitFor()
    await pressOn(page, dialogOf(page).getByRole('button', { name: 'Save my versions' }))
    await nothingWaits(page)
    assert.deepEqual(await stored(service, ...[0, 1, 2, 3, 4].map((i) => first + i)), [
      '1000 Hosta 0 (bed)',
      '1001 Hosta 1 (bed)',
      '1002 Hosta 2 (bed)',
      '1003 Hosta nigra (old)',
      '1004 Hosta alba (bed)',
    ])
    const [action, ...others] = await actionsOf(service, title)
    assert.deepEqual(others, [])
    assert.deepEqual([action?.created, action?.updated, action?.deleted], [1, 3, 0])
  })

  inBrowser('go out with another token only when its person says so', async ({ page, context, service, address }) => {
    await fill(service, 6000, 3, 'Phlox', 'old')
    const { secret, token } = await service.issueToken(['plants:read', 'plants:write'])
    await signOver(page, address, secret)
    await page.getByLabel('Search plants').fill('Phlox')
    await rowOf(page, 6002).waitFor()
    for (const id of [6000, 6001]) await page.getByLabel(`Select ${id}`, { exact: true }).click()
    await pressAction(page, 'Set tag', 'Shift+Tab')
    await page.getByLabel('Tag', { exact: true }).fill('taken over')
    // The store has one of the changes as an action of the first token, and the page has no answer.
    const title = 'Set tag: taken over'
    const answerAgain = await intercept(page, '**/plants/import*', async (route) => {
      const body = route.request().postData()?.split('\n')[0] ?? ''
      await route.fetch({ postData: body })
      await context.setOffline(true)
      await route.abort('internetdisconnected')
    })
    await dialogOf(page).getByRole('button', { name: 'Change 2 plants' }).click()
    await line(page, '2 plants wait on this device until the service answers.')
    await dialogOf(page).waitFor({ state: 'detached' })
    await rename(page, 6002, 'Phlox alba')
    await line(page, '3 changes wait on this device.')
    await lockOut(service, { secret, token })
    await answerAgain()
    await context.setOffline(false)
    await page.getByLabel('Access token').waitFor()
    await line(page, '3 changes wait on this device.')
    await assertAtBothSizes(page)
    await signIn(page, SECRET)
    await line(page, '3 changes wait on this device. 3 need your decision.')
    await page.getByRole('link', { name: 'Show them' }).click()
    await line(page, `${token.name} has made 3 changes on this device.`)
    const strange = page.locator('.strange li')
    await line(strange, title)
    await line(strange, 'before: Phlox 2')
    assert.equal(await strange.count(), 2)
    await assertAtBothSizes(page)
    assert.deepEqual(await stored(service, 6001, 6002), ['6001 Phlox 1 (old)', '6002 Phlox 2 (old)'])
    await page.getByRole('button', { name: 'Send them with my token' }).click()
    await line(page, 'Nothing waits.')
    const sent = ['6000 Phlox 0 (taken over)', '6001 Phlox 1 (taken over)', '6002 Phlox alba (old)']
    assert.deepEqual(await stored(service, 6000, 6001, 6002), sent)
    const updated = (await actionsOf(service, title)).map((action) => action.updated)
    assert.deepEqual(updated, [1, 1], 'each token has an action of its own')
  })

  onPhone('change only plants that the device has seen', { remembers: SECRET }, async ({ page, context, service }) => {
    await fill(service, 5000, 130, 'Iris', 'wet')
    await page.reload()
    await page.getByLabel('Search plants').fill('Iris')
    await rowOf(page, 5000).waitFor()
    await untilKept(page, 'Iris 99')
    await context.setOffline(true)
    await page.getByLabel('Select all that match').check()
    await pressAction(page, 'Remove tag')
    await dialogOf(page).getByText('These are only the plants that this device has seen.').waitFor()
    await assertAtBothSizes(page)
    await dialogOf(page).getByRole('button', { name: 'Change 100 plants' }).click()
    await line(page, '100 plants wait on this device until the service answers.')
    await untilSent(page)
    const tags = (await service.plants()).filter(({ name }) => name.startsWith('Iris')).map(({ tag }) => tag)
    assert.equal(tags.filter((tag) => tag === null).length, 100)
    assert.equal(tags.filter((tag) => tag === 'wet').length, 30)
  })
})
