import { suite } from 'node:test'
import { useBelow } from '../support/below-path.ts'
import { pageTests, until } from '../support/page.ts'
import { PathProxy } from '../support/path-proxy.ts'
import { withService } from '../support/service.ts'

const NOT_LOADED = 'The script of this page did not load.'

suite('the pages', () => {
  const { inBrowser } = pageTests()

  for (const strips of [true, false]) {
    inBrowser(
      `work below a path of a proxy that ${strips ? 'takes it off' : 'leaves it'}, apart from those of another service`,
      async ({ page, t }) => {
        const proxy = await PathProxy.start(t, strips)
        const below = async (path: string) => {
          const address = proxy.origin + path
          const service = await withService(t, { publicUrl: address })
          proxy.ports.set(path, service.port)
          return { address, service }
        }
        await useBelow(page, await below('/garden'), await below('/shed'))
      },
    )
  }

  inBrowser(
    'say behind a path of which the service does not know that their scripts do not load there',
    { expected: /Failed to load|Refused to|MIME/ },
    async ({ page, service, t }) => {
      const proxy = await PathProxy.start(t, true)
      proxy.ports.set('/garden', service.port)
      for (const path of ['', 'docs']) {
        await page.goto(`${proxy.origin}/garden/${path}`)
        await page.getByText(NOT_LOADED).waitFor()
      }
    },
  )

  inBrowser('have no such line where they load', async ({ page, address }) => {
    await page.locator('#search').waitFor()
    await until(page, `!document.documentElement.outerHTML.includes(${JSON.stringify(NOT_LOADED)})`)
    await page.goto(`${address}docs`)
    await page.getByRole('heading', { name: 'A first request' }).waitFor()
    await until(page, `!document.documentElement.outerHTML.includes(${JSON.stringify(NOT_LOADED)})`)
  })
})
