import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { openMenu, openView } from './by-keyboard.ts'
import { until } from './page.ts'
import { codesIn } from './pdf-pages.ts'
import { SECRET, type Service } from './service.ts'

/** A service below a path of a proxy. */
export interface Below {
  /** Its public address, such as `http://127.0.0.1:8080/garden`. */
  readonly address: string
  readonly service: Service
}

/**
 * Uses the pages of two services below paths of one origin, as a person does, and checks that each asks below its own
 * path alone and keeps nothing under the names of the other.
 */
export async function useBelow(page: Page, garden: Below, shed: Below): Promise<void> {
  const asked: URL[] = []
  page.on('request', (request) => asked.push(new URL(request.url())))
  await usePage(page, garden)
  await useDocs(page, garden)
  const path = new URL(garden.address).pathname
  const found = asked.filter(
    ({ origin, pathname }) => origin === new URL(garden.address).origin && !isBelow(path, pathname),
  )
  assert.deepEqual(found, [])

  await page.goto(`${shed.address}/`)
  await page.getByLabel('Access token').waitFor()
  const { secret } = await shed.service.issueToken(['plants:read'])
  await page.goto(`${shed.address}/#token=${secret}`)
  await page.getByText('Signed in as a test').waitFor()
  await page.goto(`${garden.address}/`)
  await page.getByText('Signed in as the operator').waitFor()
  const names = await page.evaluate<string[]>(`indexedDB.databases().then((all) =>
    [...all.map(({ name }) => name), ...[localStorage, sessionStorage].flatMap((each) => Object.keys(each))])`)
  const isNamed = (name: string) => name === 'plantstore-language' || /[a-z](?:\/garden|\/shed)$/.test(name)
  assert.deepEqual([names.length > 2, names.filter((name) => !isNamed(name))], [true, []])
}

const isBelow = (base: string, path: string): boolean => path === base || path.startsWith(`${base}/`)

async function usePage(page: Page, { address, service }: Below): Promise<void> {
  const cell = (name: string) => page.getByRole('gridcell', { name })
  await page.goto(`${address}#token=${SECRET}`)
  await page.locator('#search').waitFor()
  await service.create({ id: 7, name: 'Acer griseum' })
  await cell('Acer griseum').waitFor()
  await page.getByRole('button', { name: 'Add a plant' }).click()
  await page.getByText('Id: 8').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('Begonia rex')
  await page.keyboard.press('Enter')
  await cell('Begonia rex').waitFor()
  assert.deepEqual((await service.plants()).map(({ name }) => name).toSorted(), ['Acer griseum', 'Begonia rex'])
  await page.reload()
  await cell('Begonia rex').waitFor()
  await until(page, `document.querySelector('header img').naturalWidth > 0`)

  await openView(page, 'Tokens')
  await page.getByLabel('What is the token for?').fill('phone')
  await page.getByRole('button', { name: 'Create a token' }).click()
  const secret = await page.getByLabel('The secret of phone').inputValue()
  const phones = page.getByLabel('Address of the service, for phones')
  assert.equal(await phones.getAttribute('placeholder'), address)
  const code = page.getByRole('img', { name: 'Code that signs in as phone' })
  for (const [typed, shown] of [
    ['http://192.168.1.20:8080', 'http://192.168.1.20:8080'],
    ['http://192.168.1.20:8080/my-garden/', 'http://192.168.1.20:8080/my-garden'],
  ]) {
    await phones.fill(typed ?? '')
    assert.equal((await codesIn(await code.screenshot()))[0]?.text, `${shown}/#token=${secret}`)
  }
  await phones.fill('http://192.168.1.20:8080/my%2Fgarden')
  await page.getByText('must be an address such as').waitFor()
  await phones.fill('')
  await page.getByRole('button', { name: 'I have copied it: phone' }).click()

  await page.goto(`${address}/#/scan`)
  const field = page.getByLabel('Id of a label')
  await field.fill(`${address}/#/plant?id=8`)
  await field.press('Enter')
  await page.getByRole('gridcell', { name: 'No. 8', exact: true }).waitFor()
  await field.fill(`${address.replace(/garden$/, 'shed')}/#/plant?id=7`)
  await field.press('Enter')
  await page.getByRole('button', { name: 'Take labels with this address' }).waitFor()
  await openMenu(page)
  const language = page.locator('.account select')
  await language.selectOption('de')
  await page.getByRole('link', { name: 'Pflanzen', exact: true }).first().waitFor()
  await language.selectOption('en')
  await page.getByRole('link', { name: 'Plants', exact: true }).first().waitFor()
}

async function useDocs(page: Page, { address }: Below): Promise<void> {
  for (const end of ['/docs', '/docs/']) {
    await page.goto(address + end)
    await page.getByRole('region', { name: 'First command' }).getByText(`'${address}/plants?limit=5'`).waitFor()
  }
  await page.getByRole('button', { name: 'Try it' }).first().click()
  await page.getByRole('status', { name: 'First answer' }).getByText('Begonia rex').waitFor()
  await page.getByRole('link', { name: 'openapi.json', exact: true }).click()
  await page.getByText('"openapi":"3.1').waitFor()
}
