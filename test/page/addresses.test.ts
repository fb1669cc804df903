import assert from 'node:assert/strict'
import { hash, X509Certificate } from 'node:crypto'
import { suite, test } from 'node:test'
import { useBelow } from '../support/below-path.ts'
import { hasBrowser, withBrowser } from '../support/browser.ts'
import { makeCertificate } from '../support/certificates.ts'
import { tempFolder } from '../support/files.ts'
import { notTestedHere } from '../support/not-tested.ts'
import { pageTests, until } from '../support/page.ts'
import { PathProxy } from '../support/path-proxy.ts'
import { Program } from '../support/process.ts'
import { withService } from '../support/service.ts'
import { hasTerminal, ON_TERMINAL } from '../support/terminal.ts'
import { writePair } from '../support/transport.ts'
import { PATIENCE } from '../support/until.ts'

const NOT_LOADED = 'The script of this page did not load.'

suite('the pages', () => {
  const { inBrowser } = pageTests()

  for (const strips of [true, false]) {
    inBrowser(`work below a path that a proxy ${strips ? 'takes off' : 'leaves'}, beside another`, async (opened) => {
      const { page, t } = opened
      const proxy = await PathProxy.start(t, strips)
      const below = async (path: string) => {
        const address = proxy.origin + path
        const service = await withService(t, { publicUrl: address })
        proxy.ports.set(path, service.port)
        return { address, service }
      }
      await useBelow(page, await below('/garden'), await below('/shed'))
    })
  }

  // What Chromium says of the scripts.
  const expected = /Failed to load|Refused to|MIME/
  inBrowser('say below a path unknown to the service that no script loads', { expected }, async (opened) => {
    const { page, service, t } = opened
    const proxy = await PathProxy.start(t, true)
    proxy.ports.set('/garden', service.port)
    for (const path of ['', 'docs']) {
      await page.goto(`${proxy.origin}/garden/${path}`)
      await page.getByText(NOT_LOADED).waitFor()
    }
  })

  inBrowser('have no such line where they load', async ({ page, address }) => {
    await page.locator('#search').waitFor()
    await until(page, `!document.documentElement.outerHTML.includes(${JSON.stringify(NOT_LOADED)})`)
    await page.goto(`${address}docs`)
    await page.getByRole('heading', { name: 'A first request' }).waitFor()
    await until(page, `!document.documentElement.outerHTML.includes(${JSON.stringify(NOT_LOADED)})`)
  })
})

test('the link of the first start leads to the page over https, where camera and clipboard are allowed', async (t) => {
  if (!hasBrowser || !hasTerminal) return notTestedHere(t, 'the page over https in a browser')
  const folder = tempFolder(t)
  const pair = await makeCertificate()
  const files = writePair(folder, pair)
  const program = new Program(t, ['serve', '--port', '0', '--store', 'sqlite:plants.db', ...files], {
    cwd: folder,
    under: ON_TERMINAL,
  })
  const link = await program.says((stdout) => /^ {2}Page {5}(https:\S+)\r$/m.exec(stdout)?.[1])
  assert.match(link, /^https:\/\/127\.0\.0\.1:\d+\/#token=ps_\w+$/)

  const stranger = await (await withBrowser(t)).newPage()
  await assert.rejects(stranger.goto(link), /ERR_CERT_AUTHORITY_INVALID/, 'nobody trusts the authority of the test')

  const trusting = await withBrowser(t, [`--ignore-certificate-errors-spki-list=${spkiOf(pair.cert)}`])
  const context = await trusting.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  context.setDefaultTimeout(PATIENCE)
  const faults: string[] = []
  context.on('console', (message) => faults.push(message.text()))
  const page = await context.newPage()
  await page.goto(link)
  await page.getByText('Signed in as the operator').waitFor()
  assert.deepEqual(await page.evaluate('[isSecureContext, "mediaDevices" in navigator]'), [true, true])
  await page.evaluate('navigator.clipboard.writeText("Monstera")')
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'Monstera')
  await page.getByRole('button', { name: 'Add a plant' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Monstera')
  await page.keyboard.press('Enter')
  await page.locator('[role=row][data-id]').getByText('Monstera').waitFor()
  assert.deepEqual(faults, [])
})

/** The SHA-256 of a certificate's public key, by which Chromium trusts it (RFC 7469 section 2.4). */
const spkiOf = (cert: string): string => {
  const key = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' })
  return hash('sha256', key, 'base64')
}
