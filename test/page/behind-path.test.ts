import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'node:test'
import { pageTests, until } from '../support/page.ts'

const NOT_LOADED = 'The script of this page did not load.'

suite('the pages', () => {
  const inBrowser = pageTests()

  inBrowser(
    'say behind a path that their scripts do not load there',
    async ({ page, service, t }) => {
      // Strips the path, as proxies do, and has nothing beside it.
      const proxy = createServer((asked, answer) => {
        const [, path] = /^\/garden(\/.*)$/.exec(asked.url ?? '') ?? []
        if (path === undefined) return void answer.writeHead(404).end()
        request({ port: service.port, path, headers: asked.headers }, (given) => {
          answer.writeHead(given.statusCode ?? 500, given.headers)
          given.pipe(answer)
        }).end()
      }).listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      t.after(() => {
        proxy.closeAllConnections()
        proxy.close()
      })
      const { port } = proxy.address() as AddressInfo
      for (const path of ['', 'docs']) {
        await page.goto(`http://127.0.0.1:${port}/garden/${path}`)
        await page.getByText(NOT_LOADED).waitFor()
      }
    },
    { expected: /Failed to load|Refused to|MIME/ },
  )

  inBrowser('have no such line where they load', async ({ page, address }) => {
    await page.locator('#search').waitFor()
    await until(page, `!document.documentElement.outerHTML.includes(${JSON.stringify(NOT_LOADED)})`)
    await page.goto(`${address}docs`)
    await page.getByRole('heading', { name: 'A first request' }).waitFor()
    await until(page, `!document.documentElement.outerHTML.includes(${JSON.stringify(NOT_LOADED)})`)
  })
})
