import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ROOT } from '../../scripts/repository.ts'
import { openView, pressOn, signOut, signOver } from '../support/by-keyboard.ts'
import { inDatabases, untilKept } from '../support/kept.ts'
import { type Opened, pageTests } from '../support/page.ts'
import { choose } from '../support/page-files.ts'
import { NO_NETWORK } from '../support/page-network.ts'
import { rename, rowOf } from '../support/page-plants.ts'
import { SECRET } from '../support/service.ts'
import { untilRefused } from '../support/tokens.ts'
import { until } from '../support/until.ts'

const line = (page: Page, text: string): Promise<void> => page.getByText(text).first().waitFor()

/** What the browser keeps: the names in both storages, the number of changes that wait, and of people who have seen plants. */
async function keptIn(page: Page): Promise<readonly string[]> {
  const records = await inDatabases<string[]>(
    page,
    `const records = []
    for (const store of kept.objectStoreNames) {
      const keys = await ended(kept.transaction(store).objectStore(store).getAllKeys())
      const count = new Set(keys.map((key) => (store === 'seen' ? key[0] : key))).size
      if (count > 0) records.push(store + ' ' + count)
    }
    return records`,
  )
  const names = await page.evaluate<string[]>('[...Object.keys(localStorage), ...Object.keys(sessionStorage)]')
  return [...names, ...records.flat()].sort()
}

async function untilKeptIs(page: Page, wanted: readonly string[]): Promise<void> {
  let kept: readonly string[] = []
  const isSo = async () => {
    kept = await keptIn(page)
    return kept.join() === wanted.join()
  }
  await until(isSo, () => `the browser keeps ${kept}`)
}

/** Leaves traces in every part of the storage, and a change that waits. */
async function leaveTraces({ page, context, service, address }: Opened, secret: string, first: number): Promise<void> {
  await signOver(page, address, secret)
  await page.getByRole('button', { name: 'Remember on this device' }).first().click()
  for (const id of [first, first + 1]) await service.create({ id, name: `Twin ${first}`, tag: 'bed' })
  await page.reload()
  await rowOf(page, first + 1).waitFor()
  await untilKept(page, `Twin ${first}`)
  await choose(
    page,
    'donors.csv',
    Buffer.from(`name;donor\nSalix ${first};1 Privet Drive\nPopulus ${first};2 Elm Street\n`),
  )
  await pressOn(page, page.getByRole('button', { name: 'Check the file' }))
  await pressOn(page, page.getByRole('button', { name: 'Import 2 plants' }))
  await page.getByRole('heading', { name: 'Next' }).waitFor()
  await until(async () => (await keptIn(page)).includes('plantstore-imports'), 'the page remembers no import')
  assert.doesNotMatch(await page.evaluate<string>('localStorage.getItem("plantstore-imports")'), /Privet|Elm/)
  await openView(page, 'Plants')
  await rowOf(page, first).waitFor()
  await page.getByLabel('Search plants').fill(`Twin ${first}`)
  await page.evaluate(`localStorage.setItem('plantstore-searches', '[{"name":"mine","query":"q=Twin"}]')`)
  await page.evaluate(`localStorage.setItem('plantstore-not-same', '[{"key":"twin","ids":["1","2"]}]')`)
  await page.evaluate(`localStorage.setItem('plantstore-label-addresses', '["http://old.example"]')`)
  await page.evaluate(`localStorage.setItem('plantstore-labels', '{"base":"http://old.example"}')`)
  await page.evaluate(`localStorage.setItem('plantstore-language', 'en')`)
  await rowOf(page, first + 1).press('Enter')
  await page.getByLabel(`Name: ${first + 1}`).fill('half typed')
  await context.setOffline(true)
  await rename(page, first, `Triplet ${first}`)
  await line(page, '1 change waits on this device.')
}

suite('what the page keeps on a device', () => {
  const { inBrowser } = pageTests({ expected: NO_NETWORK })

  test('has a name in one register, with its end', () => {
    const folder = join(ROOT, 'web/src')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
    const named = files.filter((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      return /(?:local|session)Storage\.\w+\(\s*['"`]/.test(text) || /(?:local|session)Storage\[/.test(text)
    })
    assert.deepEqual(named, [], 'they use names that the register does not have')
  })

  inBrowser('goes when the service refuses the token, typed texts and changes that wait aside', async (opened) => {
    const { page, context, service } = opened
    const { secret, token } = await service.issueToken(['plants:read', 'plants:write'])
    await leaveTraces(opened, secret, 1000)
    await service.send('DELETE', `/tokens/${token.id}`)
    await untilRefused(service, secret)
    await context.setOffline(false)
    await page.getByLabel('Access token').waitFor()
    await untilKeptIs(page, ['plantstore-drafts', 'plantstore-language', 'waiting 1'])
  })

  inBrowser('goes when the person signs out, all of it but the language', async (opened) => {
    const { page } = opened
    const { secret } = await opened.service.issueToken(['plants:read', 'plants:write'])
    await leaveTraces(opened, secret, 2000)
    await signOut(page)
    await page.getByRole('listitem').getByText('1 change waits on this device.').waitFor()
    await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Sign out' }))
    await page.getByLabel('Access token').waitFor()
    await untilKeptIs(page, ['plantstore-language'])
  })

  inBrowser('is not kept without the token, nor for another person', async ({ page, context, service, address }) => {
    await service.create({ id: 3000, name: 'Hidden', tag: 'bed' })
    await page.reload()
    await rowOf(page, 3000).waitFor()
    await context.setOffline(true)
    await rename(page, 3000, 'Shown')
    await line(page, '1 change waits on this device.')
    // The page has asked for its database before, to keep what it saw.
    assert.ok(!(await keptIn(page)).some((each) => each.startsWith('seen')))
    await context.setOffline(false)
    await page.locator('.waiting-line a').waitFor({ state: 'detached' })

    await page.evaluate(`localStorage.setItem('plantstore-token', ${JSON.stringify(SECRET)})`)
    await page.reload()
    await untilKept(page, 'Shown')
    // A guest has a tab of their own, and the device still remembers the other token.
    const { secret } = await service.issueToken(['plants:read'])
    const guest = await context.newPage()
    await guest.goto(`${address}#/import`)
    await guest.evaluate(`sessionStorage.setItem('plantstore-token', ${JSON.stringify(secret)})`)
    await guest.reload()
    await guest.getByText('Signed in as a test').waitFor({ state: 'attached' })
    await context.setOffline(true)
    await guest.goto(`${address}#/plant?id=3000`)
    await line(guest, 'This device has not seen the plant.')
    await page.goto(`${address}#/plant?id=3000`)
    await line(page, 'This is what this device has seen before')
    await context.setOffline(false)
    // Who signs in to stay takes the device over.
    await guest.goto(`${address}#/`)
    await guest.evaluate(`localStorage.setItem('plantstore-token', ${JSON.stringify(secret)})`)
    await guest.reload()
    await rowOf(guest, 3000).waitFor()
    await untilKept(guest, 'Shown')
    assert.ok((await keptIn(guest)).includes('seen 1'), 'what the other person has seen is gone')
  })
})
