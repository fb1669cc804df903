import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { cutGroups, tagTree } from '../../web/src/plants/find/tag-tree.ts'
import { assertAtBothSizes, assertForFingers } from '../support/accessible.ts'
import { openTools, pressOn, tabTo } from '../support/by-keyboard.ts'
import { type Opened, pageTests } from '../support/page.ts'
import { empty, saved } from '../support/page-files.ts'
import { addRows, untilShown } from '../support/page-plants.ts'

const PLANTS = [
  { id: 1, name: 'Hemlock', tag: 'conifer' },
  { id: 2, name: 'Scots pine', tag: 'conifer/pine' },
  { id: 3, name: 'Stone pine', tag: 'conifer/pine' },
  { id: 4, name: 'Norway spruce', tag: 'conifer/spruce' },
  { id: 5, name: 'Ironwood', tag: 'coniferous' },
  { id: 6, name: 'Royal fern', tag: 'fern/royal' },
  { id: 7, name: 'Pine seedling' },
  { id: 8, name: 'Tulip' },
  { id: 9, name: 'Blank', tag: '' },
]

async function fill({ page, service }: Opened): Promise<void> {
  await empty(service)
  for (const plant of PLANTS) await service.create(plant)
  await page.reload()
  await untilShown(page, [1, 2, 3, 4, 5, 6, 7, 8, 9])
}

const summary = (page: Page, name: string | RegExp): Locator => page.locator('summary').filter({ hasText: name })
const chip = (page: Page, text: string): Locator =>
  page.getByRole('button', { name: `Remove the filter ${text}`, exact: true })

/** Opens the list of tags by keyboard, and chooses one of its boxes. */
async function chooseTag(page: Page, name: string, group?: string): Promise<void> {
  await openTools(page)
  await pressOn(page, summary(page, /^Tags/))
  if (group !== undefined) await pressOn(page, page.locator('.panel summary', { hasText: group }))
  await pressOn(page, page.getByRole('checkbox', { name, exact: true }), 'Space')
}

suite('the tags of the page, as a tree,', () => {
  const { inBrowser, onPhone } = pageTests({ begin: fill })

  onPhone('open by group, and a group filters the table, the file, the labels and what changes', async (opened) => {
    const { page, service } = opened
    await chooseTag(page, 'All of conifer/', 'conifer/')
    await untilShown(page, [2, 3, 4])
    const texts = await page.locator('.tag-filter .panel :is(summary, li > .check)').allInnerTexts()
    const found = texts.map((text) => text.replaceAll(/\s+/g, ' ').trim())
    assert.deepEqual(found, [
      '(empty) 1 1 plant',
      'conifer 1 1 plant',
      'conifer/ 3 3 plants',
      'conifer/pine 2 2 plants',
      'conifer/spruce 1 1 plant',
      'coniferous 1 1 plant',
      'fern/royal 1 1 plant',
    ])
    await assertAtBothSizes(page)
    await page.keyboard.press('Escape')
    await page.waitForURL(/\?tagPrefix=conifer%2F$/)
    await page.reload()
    await untilShown(page, [2, 3, 4])
    await chip(page, 'conifer/…').waitFor()

    await openTools(page)
    await pressOn(page, summary(page, 'Export'))
    const file = await saved(opened, 'As NDJSON, for programs')
    assert.deepEqual(file.match(/(?<="id":)\d+/g), ['2', '3', '4'])
    await page.keyboard.press('Escape')
    await pressOn(page, page.getByRole('link', { name: 'Print labels' }))
    await page.getByText('3 labels', { exact: true }).waitFor()
    await page.getByText('Plants tagged conifer/…').waitFor()
    await page.goBack()
    await untilShown(page, [2, 3, 4])

    await pressOn(page, page.getByLabel('Select all that match'), 'Space')
    await page.getByText('All 3 plants selected').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Set tag' }), 'Enter', 'Shift+Tab')
    await tabTo(page, page.getByLabel('Tag', { exact: true }))
    await page.keyboard.type('tree')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const changed = PLANTS.map((plant) => (plant.tag?.startsWith('conifer/') ? { ...plant, tag: 'tree' } : plant))
    assert.deepEqual(JSON.parse((await service.send('GET', '/plants')).body), changed)
  })

  onPhone('have a choice of plants without one, which a saved search keeps and a chip removes', async ({ page }) => {
    await chooseTag(page, 'Without a tag')
    await untilShown(page, [7, 8])
    await page.waitForURL(/\?untagged=true$/)
    await assertAtBothSizes(page)
    await page.keyboard.press('Escape')
    await pressOn(page, summary(page, 'Saved'))
    await tabTo(page, page.getByLabel('Save this search as'))
    await page.keyboard.type('To sort')
    await page.keyboard.press('Enter')
    const search = page.getByRole('button', { name: 'To sort', exact: true })
    await search.waitFor()
    await page.keyboard.press('Escape')
    await pressOn(page, chip(page, 'Without a tag'), 'Enter', 'Shift+Tab')
    await untilShown(page, [1, 2, 3, 4, 5, 6, 7, 8, 9])

    await pressOn(page, summary(page, 'Saved'))
    await pressOn(page, search)
    await untilShown(page, [7, 8])
    await pressOn(page, page.getByRole('link', { name: 'Count these plants' }))
    await chip(page, 'Without a tag').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Begin with the plants that match' }))
    await page.getByText('Plants without a tag').waitFor()
    await page.getByText('0 of 2 plants there').waitFor()
    await page.reload()
    await page.getByText('Plants without a tag').waitFor()
  })

  inBrowser('show what a search finds in open groups, which keep the number of all their plants', async ({ page }) => {
    await chooseTag(page, 'coniferous 1 plant')
    await untilShown(page, [5])
    await page.getByLabel('Find a tag').fill('SPRU')
    await page.getByRole('checkbox', { name: 'conifer/spruce 1 plant' }).waitFor()
    assert.equal(await page.getByRole('checkbox', { name: 'conifer/pine' }).count(), 0)
    await page.locator('.panel summary', { hasText: '3 plants' }).waitFor()
    // A group takes the place of chosen tags, and a tag that of a group.
    await page.getByRole('checkbox', { name: 'All of conifer/' }).check()
    await untilShown(page, [2, 3, 4])
    assert.equal(await chip(page, 'coniferous').count(), 0)
    await page.getByRole('checkbox', { name: 'conifer/spruce 1 plant' }).check()
    await untilShown(page, [4])
    await page.waitForURL(/\?tag=conifer%2Fspruce$/)
  })

  inBrowser('show the plant of a typed id only where its tag begins as the group does', async ({ page, address }) => {
    await page.goto(`${address}#/plants?tagPrefix=conifer/&q=3`)
    await untilShown(page, [3])
    await page.getByLabel('Search plants').fill('5')
    await page.getByText('No plant matches.').waitFor()
    await page.getByRole('button', { name: 'Search all tags' }).click()
    await untilShown(page, [5])
    await page.goto(`${address}#/plants?untagged=true&tagPrefix=conifer/&tag=conifer`)
    await untilShown(page, [7, 8])
    await page.goto(`${address}#/plants?tagPrefix=${'x'.repeat(201)}`)
    await page.getByText('tagPrefix must have at most 200 characters').waitFor()
  })

  onPhone('fit a finger', { hasTouch: true }, async ({ page }) => {
    await page.getByRole('button', { name: 'Tools' }).tap()
    await summary(page, /^Tags/).tap()
    await page.locator('.panel summary', { hasText: 'conifer/' }).tap()
    await page.getByRole('checkbox', { name: 'All of conifer/' }).waitFor()
    await assertForFingers(page)
  })

  inBrowser('count all plants of groups not read to their end, and list 200 of their tags', async (opened) => {
    const { page, service } = opened
    await empty(service)
    const tags = [...Array.from({ length: 1001 }, (_, i) => `bed/${i}`), 'zone/a1', 'zone/a2', 'zone/b']
    const rows = tags.map((tag, i) => JSON.stringify({ id: i + 1, name: 'Rose', tag }))
    await addRows(service, rows)
    await page.reload()
    await summary(page, /^Tags/).click()
    const bed = page.locator('.panel summary', { hasText: '1,001 plants' })
    await bed.click()
    await page.getByText('and 800 more').waitFor()
    assert.equal(await page.getByRole('checkbox', { name: /^bed/ }).count(), 200)
    // The service finds a group behind the tags that were read, and counts what the search leaves out.
    await page.getByLabel('Find a tag').fill('a')
    await page.getByRole('checkbox', { name: 'zone/a2 1 plant' }).waitFor()
    await page.locator('.panel summary', { hasText: /^zone\/.*3 plants$/ }).waitFor()
    await page.getByLabel('Find a tag').fill('')
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.locator('.panel summary', { hasText: /^zone\/.*3 plants$/ }).waitFor()
    await bed.click()
    // More than the list shows: the groups stay as they are.
    await page.getByLabel('Find a tag').fill('bed/')
    await page.getByText('and 801 more').waitFor()
  })

  test('are at most three groups deep, and a tag alone in its group stands for itself', () => {
    const tags = ['', '/', '//', '///', '////', 'a/b/c', 'a/b/d', 'z/'].map((tag) => ({ tag, plants: 1 }))
    const [empty, slash1, slash2, slash3, slash4, c, d, z] = tags
    const deepest = { prefix: '///', plants: 2, entries: [slash3, slash4] }
    const second = { prefix: '//', plants: 3, entries: [slash2, deepest] }
    const inA = { prefix: 'a/b/', plants: 2, entries: [c, d] }
    assert.deepEqual(tagTree(tags), [
      empty,
      { prefix: '/', plants: 4, entries: [slash1, second] },
      { prefix: 'a/', plants: 2, entries: [inA] },
      z,
    ])
    // What a list lacks that was read up to a/b/c: tags of the groups with it, and of those behind.
    const cut = cutGroups(tagTree(tags), 'a/b/c').map(({ prefix }) => prefix)
    assert.deepEqual([cut, cutGroups(tagTree(tags), undefined)], [['a/', 'a/b/'], []])
    const deep = [...'0123'].map((tag) => ({ tag: `a/b/c/d/${tag}`, plants: 1 }))
    assert.deepEqual(tagTree(deep, 'a/b/c/', 3), deep)
  })
})
