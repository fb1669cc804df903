import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { suite, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import { assertAccessible } from '../support/accessible.ts'
import { untilKept, untilPageKept } from '../support/kept.ts'
import { pageTests } from '../support/page.ts'
import { NO_NETWORK } from '../support/page-network.ts'
import { addPlant, line, storedNames, untilSent } from '../support/page-plants.ts'
import { PathProxy } from '../support/path-proxy.ts'
import { SECRET, type Service, withService } from '../support/service.ts'
import { until } from '../support/until.ts'

const KEPT = { serviceWorkers: 'allow', token: null } as const
const KEPT_AWAY = { ...KEPT, expected: NO_NETWORK }
const BUILD = 'document.documentElement.dataset.build'

/** Serves a service at an address of its own, and another build of the page from there later. */
async function withUpgrades(t: TestContext, { port }: Service) {
  /** The build that it serves, and whether the file with the code comes from an instance of another version. */
  const served = { build: '', isMixed: false }
  const proxy = createServer((asked, answer) => {
    const { 'if-none-match': _tags, ...rest } = asked.headers
    const headers = { ...rest, 'accept-encoding': 'identity' }
    const sent = request({ port, path: asked.url, method: asked.method, headers }, async (given) => {
      // A page that leaves ends its requests.
      const bytes = await buffer(given).catch(() => undefined)
      if (bytes === undefined) return void answer.destroy()
      const { build, isMixed } = served
      let body = bytes
      if (build !== '' && asked.url === '/page/page.js') body = Buffer.from(`${body}\n${BUILD} = '${build}'`)
      if (build !== '' && asked.url === '/page/worker.js') {
        body = Buffer.from(body.toString().replace(/VERSION ?= ?"\w+"/, `VERSION="${build}"`))
      }
      const { 'content-length': _length, 'transfer-encoding': _coding, ...others } = given.headers
      if (isMixed && asked.url === '/page/page.js') others.etag = '"0000000000000000"'
      answer.writeHead(given.statusCode ?? 500, others).end(body)
    })
    asked.pipe(sent.on('error', () => answer.destroy()))
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return { address: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`, served }
}

/** Signs in, lets the device remember the token, and waits until it keeps the page. */
async function open(page: Page, address: string): Promise<void> {
  await page.goto(`${address}#token=${SECRET}`)
  await page.getByRole('button', { name: 'Remember on this device' }).click()
  await untilPageKept(page)
}

/** Lets the device keep what is read from now on. */
async function readAgain(page: Page, plant: string): Promise<void> {
  await page.reload()
  await line(page, plant)
  await untilKept(page, plant)
}

/** Loads the page again, which may load once more by itself: a wait for a load could meet the wrong one. */
const loadAgain = (page: Page): Promise<void> => page.evaluate('void setTimeout(() => location.reload())')

/** Counts the loads of the page from now on. @returns waits until there were so many */
function loadsOf(page: Page): (wanted: number) => Promise<void> {
  let count = 0
  page.on('load', () => {
    count += 1
  })
  const fault = () => `the page has loaded ${count} times`
  return (wanted) => until(() => count === wanted, fault)
}

/** Waits for a build of the page, which loads again meanwhile. */
const untilBuild = (page: Page, build: string): Promise<void> =>
  until(async () => (await page.evaluate(BUILD).catch(() => '')) === build, `the page is not of build ${build}`)

suite('the page that a device keeps', () => {
  const { inBrowser, onPhone } = pageTests()

  onPhone('opens without a network, and sends later', KEPT_AWAY, async ({ page, context, service, address }) => {
    await service.create({ id: 1, name: 'Agave', tag: 'bed 1' })
    await service.create({ id: 2, name: 'Opuntia', tag: 'bed 2' })
    await open(page, address)
    await readAgain(page, 'Opuntia')
    await context.setOffline(true)
    await page.reload()
    await page.getByText('The service does not answer').waitFor()
    await page.getByText('This is what this device has seen before').waitFor()
    await page.getByText('Agave').waitFor()
    await assertAccessible(page)
    await page.getByLabel('Search plants').fill('opun')
    await page.getByText('Agave').waitFor({ state: 'detached' })
    await page.getByText('Opuntia').waitFor()
    await page.getByLabel('Search plants').fill('')
    await page.goto(`${address}#/plant?id=2`)
    await page.getByText('This is what this device has seen before').waitFor()
    await page.getByText('Opuntia').waitFor()
    await page.goto(`${address}#/plants`)
    await addPlant(page, 'Aloe')
    await line(page, '1 change waits on this device.')
    await page.close()
    const later = await context.newPage()
    await later.goto(address)
    await line(later, '1 change waits on this device.')
    await untilSent(later)
    assert.deepEqual(await storedNames(service), ['Agave (bed 1)', 'Opuntia (bed 2)', 'Aloe'])
  })

  inBrowser('loads a later version once nothing would be lost', KEPT, async ({ page, context, service, t }) => {
    const { address, served } = await withUpgrades(t, service)
    await open(page, address)
    const untilLoaded = loadsOf(page)
    served.build = '2'
    await loadAgain(page)
    await untilBuild(page, '2')
    // The old page comes from the device, and loads once more.
    await untilLoaded(2)

    await service.create({ id: 7, name: 'Ilex' })
    await page.reload()
    await page.getByRole('button', { name: 'Edit: 7' }).click()
    await page.getByLabel('Name: 7').fill('Ilex aquifolium')
    served.build = '3'
    const waits = `navigator.serviceWorker.ready.then(async (kept) => {
        await kept.update()
        const { installing } = kept
        if (installing) await new Promise((done) => installing.addEventListener('statechange', () => kept.waiting && done()))
      })`
    await page.evaluate(waits)
    const other = await context.newPage()
    await other.goto(address)
    await untilBuild(other, '3')
    await page.bringToFront()
    assert.equal(await page.evaluate(BUILD), '2')
    assert.equal(await page.getByLabel('Name: 7').inputValue(), 'Ilex aquifolium')
    await page.getByLabel('Name: 7').press('Enter')
    await untilBuild(page, '3')
  })

  inBrowser('is of one version, also while instances of two versions answer', KEPT, async ({ page, service, t }) => {
    const { address, served } = await withUpgrades(t, service)
    await open(page, address)
    Object.assign(served, { build: '2', isMixed: true })
    // Resolves once the browser has given the mixed set up.
    await page.evaluate(`navigator.serviceWorker.ready.then(async (kept) => {
        await kept.update()
        const { installing } = kept
        if (installing) await new Promise((done) => installing.addEventListener('statechange', done))
        if (installing?.state !== 'redundant') throw new Error(installing?.state)
      })`)
    served.isMixed = false
    await loadAgain(page)
    await untilBuild(page, '2')
  })

  inBrowser('follows the version of the service where none is kept', { token: null }, async ({ page, service, t }) => {
    const { address, served } = await withUpgrades(t, service)
    await page.addInitScript(`Object.defineProperty(Navigator.prototype, 'serviceWorker', { get: () => undefined })`)
    const first = page.waitForResponse(/worker\.js$/)
    await page.goto(`${address}#token=${SECRET}`)
    await first
    served.build = '2'
    const untilLoaded = loadsOf(page)
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    await untilLoaded(1)
  })

  inBrowser('can be installed below a path beside another one, and goes when off', KEPT_AWAY, async (opened) => {
    const { page, context, t } = opened
    const proxy = await PathProxy.start(t, false)
    // One path begins with the letters of the other one.
    const paths = ['/garden', '/garden-shed']
    for (const path of paths) {
      const service = await withService(t, { publicUrl: proxy.origin + path })
      proxy.ports.set(path, service.port)
      await service.create({ id: 1, name: `Acer of ${path}.` })
      await open(page, proxy.origin + path)
      await readAgain(page, `Acer of ${path}.`)
      const start = `${proxy.origin}${path}/`
      assert.equal(page.url().replace(/#.*/, ''), start)
      const session = await context.newCDPSession(page)
      assert.deepEqual(await session.send('Page.getInstallabilityErrors'), { installabilityErrors: [] })
      const { url, manifest } = await session.send('Page.getAppManifest')
      assert.equal(url, `${proxy.origin}${path}/page/app.webmanifest`)
      assert.deepEqual([manifest.startUrl, manifest.scope], [start, start])
    }
    const kept = await page.evaluate<readonly [string, readonly string[]][]>(`
          caches.keys().then((names) => Promise.all(names.map(async (name) => {
            const requests = await (await caches.open(name)).keys()
            return [name.split(' ')[1], requests.map(({ url }) => url)]
          })))`)
    const found = kept.map(([scope]) => scope)
    const wanted = paths.map((path) => `${proxy.origin}${path}/`)
    assert.deepEqual(found, wanted)
    for (const [scope, addresses] of kept) {
      assert.ok(addresses.includes(scope) && addresses.includes(`${scope}page/page.js`))
      const shown = addresses.filter((address) => !address.startsWith(scope))
      assert.deepEqual(shown, [])
    }
    await context.setOffline(true)
    for (const path of paths) {
      await page.goto(`${proxy.origin}${path}/`)
      await page.getByText('This is what this device has seen before').waitFor()
      await page.getByText(`Acer of ${path}.`).waitFor()
    }
    await context.setOffline(false)
    // One of them is switched off, and takes away what it has kept itself.
    const off = await withService(t, { publicUrl: `${proxy.origin}/garden`, page: 'off' })
    proxy.ports.set('/garden', off.port)
    await page.goto(`${proxy.origin}/garden/`)
    // A page that still loads when its worker leaves stays until the person loads it again.
    await page.waitForURL(/\/openapi\.json$/, { timeout: 10_000 }).catch(() => page.reload().catch(() => {}))
    await until(() => page.url().endsWith('/openapi.json'), 'the page is still there')
    const left = `Promise.all([navigator.serviceWorker.getRegistrations(), caches.keys()])
          .then(([workers, names]) => [...workers.map(({ scope }) => scope), ...names.map((name) => name.split(' ')[1])])`
    const shed = `${proxy.origin}/garden-shed/`
    const leftOf = async () => isDeepStrictEqual(await page.evaluate(left).catch(() => []), [shed, shed])
    await until(leftOf, 'the page that is switched off has left something, or the other one has gone')
  })
})
