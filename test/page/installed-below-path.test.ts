import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import { untilKept } from '../support/kept.ts'
import { pageTests, until } from '../support/page.ts'
import { NO_NETWORK } from '../support/page-network.ts'
import { PathProxy } from '../support/path-proxy.ts'
import { SECRET, withService } from '../support/service.ts'
import { until as holds } from '../support/until.ts'

/** Signs in, lets the device remember the token, and waits until it keeps the page and has read this plant. */
async function open(page: Page, address: string, plant: string): Promise<void> {
  await page.goto(`${address}#token=${SECRET}`)
  await page.getByRole('button', { name: 'Remember on this device' }).click()
  await until(page, 'navigator.serviceWorker.controller !== null')
  await page.reload()
  await page.getByText(plant).waitFor()
  await untilKept(page, plant)
}

suite('the pages of two services that a device keeps', () => {
  const { inBrowser } = pageTests()

  for (const strips of [true, false]) {
    inBrowser(
      `open without a network, each below its own path of a proxy that ${strips ? 'takes it off' : 'leaves it'}`,
      { expected: NO_NETWORK, serviceWorkers: 'allow', token: null },
      async ({ page, context, t }) => {
        const proxy = await PathProxy.start(t, strips)
        // One path begins with the letters of the other one.
        const paths = ['/garden', '/garden-shed']
        for (const path of paths) {
          const service = await withService(t, { publicUrl: proxy.origin + path })
          proxy.ports.set(path, service.port)
          await service.create({ id: 1, name: `Acer of ${path}.` })
          await open(page, proxy.origin + path, `Acer of ${path}.`)
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
        // A wait for a navigation would fail where the page loads once more in the middle of it.
        await holds(() => page.url().endsWith('/openapi.json'), 'the page is still there')
        const left = `Promise.all([navigator.serviceWorker.getRegistrations(), caches.keys()])
          .then(([workers, names]) => [...workers.map(({ scope }) => scope), ...names.map((name) => name.split(' ')[1])])`
        const shed = `${proxy.origin}/garden-shed/`
        const leftOf = async () => isDeepStrictEqual(await page.evaluate(left).catch(() => []), [shed, shed])
        await holds(leftOf, 'the page that is switched off has left something, or the other one has gone')
      },
    )
  }
})
