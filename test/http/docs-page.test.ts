import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { hashSecret } from '../../src/domain/token.ts'
import { hasBrowser, withBrowser } from '../support/browser.ts'
import { contract } from '../support/conforms.ts'
import { tempFolder } from '../support/files.ts'
import { notTestedHere } from '../support/not-tested.ts'
import { FOREIGN, Portal } from '../support/portal.ts'
import { SECRET, type Service, withService } from '../support/service.ts'
import { translator } from '../support/translator.ts'
import { token } from '../token-suite.ts'

const ENDS = ['-9223372036854775808', '9223372036854775807', '9007199254740993']

/** An identity provider, without which one operation is refused. It never answers. */
const PROVIDER = { oidcIssuer: 'http://127.0.0.1:9', oidcAudience: 'plants' }

suite('the page at /docs, in a browser', () => {
  let browser: Browser
  const closers: (() => Promise<void> | void)[] = []

  before(async () => {
    if (hasBrowser) browser = await withBrowser({ after: (done) => closers.push(done) })
  })
  after(async () => {
    for (const close of closers.toReversed()) await close()
  })

  /** Runs a test with the page open. Every message in the browser's console is a fault. */
  function inBrowser(
    title: string,
    run: (page: Page, service: Service, t: TestContext) => Promise<void>,
    options: BrowserContextOptions = {},
  ): void {
    test(title, async (t) => {
      if (!hasBrowser) return notTestedHere(t, 'the page at /docs in a browser')
      const service = await withService(t, PROVIDER)
      const context = await browser.newContext(options)
      t.after(() => context.close())
      const page = await context.newPage()
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(error.message))
      // Chromium reports each refusal that fetch receives; the page shows those.
      page.on('console', (message) => {
        if (!message.text().startsWith('Failed to load resource: the server responded with'))
          faults.push(message.text())
      })
      await page.goto(`http://127.0.0.1:${service.port}/docs`)
      await page.locator('main:not([aria-busy])').waitFor()
      await run(page, service, t)
      assert.deepEqual(faults, [])
    })
  }

  inBrowser('shows no contract of another program on the way', async (page, service, t) => {
    const portal = await Portal.start(t, service.port)
    portal.holdsUp = (_method, path) => path === '/openapi.json'
    for (const name of ['a portal with a page and 200', 'another program with JSON', 'a redirect to a portal']) {
      portal.answer = FOREIGN[name]
      await page.goto(`${portal.address}/docs`)
      await page.getByRole('alert').getByText('not of Plantstore').waitFor()
    }
    portal.answer = undefined
    await page.reload()
    await page.locator('#createPlant').waitFor()
  })

  inBrowser('begins with a request that one can try', async (page, service) => {
    const first = page.locator('main > :first-child')
    await first.getByRole('heading', { name: 'A first request' }).waitFor()
    const command = await first.getByRole('region', { name: 'First command' }).innerText()
    assert.ok(command.startsWith('curl -i -H "Authorization: Bearer $PLANTSTORE_TOKEN"'), command)
    assert.ok(command.endsWith(`'http://127.0.0.1:${service.port}/plants?limit=5'`), command)
    await service.create({ id: 1, name: 'Monstera deliciosa' })
    await page.getByLabel('Access token').fill(SECRET)
    await first.getByRole('button', { name: 'Try it' }).click()
    await first.getByText('[{"id":1,"name":"Monstera deliciosa"}]').waitFor()
  })

  inBrowser('shows every operation, and each succeeds with the values that it fills in', async (page, service) => {
    // The contract has this id as its example.
    await service.store.tokens.createToken(token('x', { id: 'tok_4bXm09TzQ1r' }), hashSecret('x'))
    const imported = { headers: { 'Content-Type': 'text/csv' }, body: 'id,name\n70,x\n' }
    const { headers } = await service.send('POST', '/plants/import', imported)
    await page.getByLabel('Access token').fill(SECRET)
    const sections = await page.locator('main section:has(form)').evaluateAll((found) => found.map(({ id }) => id))
    assert.deepEqual(sections.toSorted(), contract.operations.map(({ id }) => id).toSorted())
    // What ends a plant, a token or a webhook comes last, as the others need it.
    const isEnd = (id: string) => /^(delete|revoke)/.test(id)
    for (const id of [...sections.filter((each) => !isEnd(each)), ...sections.filter(isEnd)]) {
      const [webhook] = await service.store.webhooks.list()
      const isOfWebhook = contract.operations.some((each) => each.id === id && each.path.startsWith('/webhooks/{id}'))
      if (isOfWebhook) await page.locator(`#${id}-path-id`).fill(webhook?.webhook.id ?? '')
      const isOfAction = contract.operations.some((each) => each.id === id && each.path.startsWith('/actions/{id}'))
      if (isOfAction) await page.locator(`#${id}-path-id`).fill(String(headers['plantstore-action']))
      // The position of the example is of no store.
      if (id === 'redeliverWebhook') await page.locator(`#${id}-body`).fill('{"after":"now"}')
      const { status } = await send(page, id)
      assert.match(status, /^20[0-4]/, id)
    }
  })

  inBrowser('sends and shows ids exactly', async (page, service) => {
    await page.getByLabel('Access token').fill(SECRET)
    for (const id of ENDS) {
      await page.locator('#createPlant-body').fill(`{"id": ${id}, "name": "x"}`)
      const created = await send(page, 'createPlant')
      assert.match(created.headers, new RegExp(`^content-location: /plants/${id}$`, 'm'))
      await page.locator('#getPlant-path-id').fill(id)
      const { status, body, command } = await send(page, 'getPlant')
      assert.match(status, /^200/)
      assert.equal(body, `{"id":${id},"name":"x"}`)
      assert.ok(command.endsWith(`'http://127.0.0.1:${service.port}/plants/${id}'`), command)
      await page.locator('#replacePlant-path-id').fill(id)
      assert.match((await send(page, 'replacePlant')).body, new RegExp(`^\\{"id":${id},`))
    }
    const { body } = await send(page, 'listPlants')
    for (const id of ENDS) assert.ok(body.includes(`{"id":${id},`), body)
    assert.deepEqual((await service.plants()).map(({ id }) => String(id)).toSorted(), ENDS.toSorted())
  })

  inBrowser('imports a typed body and a chosen file', async (page, service, t) => {
    await page.getByLabel('Access token').fill(SECRET)
    await page.locator('#importPlants-type').selectOption('text/csv')
    assert.match(await page.locator('#importPlants-body').inputValue(), /^id,name,tag\n/)
    await page.locator('#importPlants-body').fill(`id,name\n${ENDS[0]},typed\n`)
    assert.match((await send(page, 'importPlants')).body, /"added":1/)
    const file = join(tempFolder(t), 'plants.csv')
    writeFileSync(file, `id,name\n${ENDS[1]},picked\n`)
    await page.locator('#importPlants-file').setInputFiles(file)
    assert.match((await send(page, 'importPlants')).body, /"added":1/)
    const stored = (await service.plants()).map(({ id, name }) => `${id} ${name}`)
    assert.deepEqual(stored.toSorted(), [`${ENDS[0]} typed`, `${ENDS[1]} picked`])
    await page.locator('#exportPlants-accept').selectOption('text/csv')
    await page.locator('#exportPlants-query-format').selectOption('csv')
    assert.match((await send(page, 'exportPlants')).body, new RegExp(`\n${ENDS[1]},picked,\r?\n`))
  })

  inBrowser('keeps the token only in the tab, and shows commands without the token', async (page, service) => {
    assert.match((await send(page, 'listPlants')).status, /^401/)
    await page.getByLabel('Access token').fill(SECRET)
    await page.reload()
    assert.match((await send(page, 'listPlants')).status, /^200/)
    const other = await page.context().newPage()
    await other.goto(`http://127.0.0.1:${service.port}/docs`)
    assert.equal(await other.getByLabel('Access token').inputValue(), '')
    assert.ok(!(await send(page, 'listPlants')).command.includes(SECRET), 'the shown command contains no token')
  })

  inBrowser('shows answers as text, even if they look like HTML', async (page) => {
    await page.getByLabel('Access token').fill(SECRET)
    const name = '<img src=x onerror=alert(1)>&amp;'
    await page.locator('#createPlant-body').fill(JSON.stringify({ id: 1, name }))
    assert.equal((await send(page, 'createPlant')).body, JSON.stringify({ name }))
    assert.equal(await page.locator('.answer img').count(), 0)
  })

  inBrowser('has a label for each control, and works by keyboard', async (page) => {
    const count = (found: readonly unknown[]) =>
      found.filter((control) => (control as { labels?: ArrayLike<unknown> }).labels?.length !== 1).length
    const unlabelled = await page.locator('input, select, textarea').evaluateAll(count)
    assert.equal(unlabelled, 0)
    await page.locator('#getLiveness button').focus()
    await page.keyboard.press('Enter')
    await page.locator('#getLiveness .status').waitFor()
  })

  inBrowser('may be translated by a browser, which leaves alone what one sends and copies', async (page) => {
    await page.addInitScript(translator('text.toUpperCase()'))
    await page.reload()
    await page.getByText('A FIRST REQUEST').waitFor()
    await page.getByLabel('Access token').fill(SECRET)
    await page.locator('#createPlant-body').fill('{"id":1,"name":"Rosa"}')
    for (let i = 0; i < 2; i++) {
      const { status, command, headers, body } = await send(page, 'createPlant')
      assert.match(status, /^200/)
      assert.match(command, /^curl -i -X POST .*"Rosa"/)
      assert.match(headers, /^content-location: /m)
      assert.equal(body, '{"name":"Rosa"}')
    }
    await page.locator('#listPlants').getByText('NEEDS A TOKEN WITH THE SCOPE plants:read').waitFor()
    const terms = 'main font :is(code, pre, select), :is(code, pre, select, h3, [for*="-query-"], td:first-child) font'
    assert.deepEqual(await page.locator(terms).allTextContents(), [])
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    inBrowser(
      `fits a phone, in ${colorScheme} colours, with the first request on its first screen`,
      async (page) => {
        const box = await page.getByRole('button', { name: 'Try it' }).boundingBox()
        assert.ok(box !== null && box.y + box.height <= 740, `the button is at ${box?.y}`)
        await page.getByLabel('Access token').fill(SECRET)
        await send(page, 'createPlant')
        const [width, ground] = await page.evaluate<[number, string]>(
          '[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]',
        )
        assert.equal(width, 360)
        assert.equal(ground === 'rgb(255, 255, 255)', colorScheme === 'light', ground)
      },
      { colorScheme, viewport: { width: 360, height: 740 } },
    )
  }
})

/** Sends the form of an operation and waits for its answer. */
async function send(page: Page, id: string) {
  const section = page.locator(`section#${id}`)
  const answer = section.locator('.answer')
  await answer.evaluate((place) => place.replaceChildren())
  await section.getByRole('button', { name: 'Send' }).click()
  const status = (await answer.locator('.status').textContent()) ?? ''
  const textOf = async (part: string) => (await answer.locator(part).textContent()) ?? ''
  return { status, command: await textOf('.sent'), headers: await textOf('.headers'), body: await textOf('.body') }
}
