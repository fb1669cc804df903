import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertAtBothSizes } from '../support/accessible.ts'
import { openView, pressOn, signOut, tabTo, typeLabel, untilFocused } from '../support/by-keyboard.ts'
import { type FakeCamera, fakeCamera } from '../support/camera.ts'
import { KEYBOARDS, pressAsScanner } from '../support/keyboards.ts'
import { hide, type Opened, PHONE, pageTests, until } from '../support/page.ts'
import { askedBy, intercept } from '../support/page-network.ts'
import { codesIn } from '../support/pdf-pages.ts'
import { SECRET } from '../support/service.ts'

/** A name that leads to this machine, but that browsers do not trust like it. */
const HOST = 'plants.test'

suite('the page, for a person who scans labels,', () => {
  let camera: FakeCamera
  const { inBrowser, onPhone } = pageTests({
    settings: async () => ({ publicUrl: 'https://plants.example' }),
    args: (scene) => {
      camera = fakeCamera(scene)
      return [...camera.args, `--host-resolver-rules=MAP ${HOST} 127.0.0.1`]
    },
  })

  /** Opens the camera before an empty picture. */
  const open = async ({ page, service, address }: Opened) => {
    for (const [i, name] of ['Acer griseum', 'Begonia rex', 'Cyclamen coum'].entries()) {
      await service.create({ id: 7 + i, name, tag: 'greenhouse' })
    }
    camera.show()
    await page.goto(`${address}#/scan`)
    await page.getByText('Hold a label into the frame.').waitFor()
  }
  /** The number of a plant, or the title of one that is not entered yet. */
  const heading = (page: Page, id: number) =>
    page
      .getByRole('heading', { name: `Plant ${id}`, exact: true })
      .or(page.getByRole('gridcell', { name: `No. ${id}`, exact: true }))

  onPhone('opens the plant of each label or the form for a new one, and goes on, by keyboard alone', async (opened) => {
    const free = 901
    const { page, service, address } = opened
    const asked = askedBy(page)
    await page.reload()
    await page.locator('#search').waitFor()
    assert.ok(!asked.some((url) => url.includes('zxing')), 'the page loads ZXing without a camera')
    await open(opened)
    const zxing = ['zxing.js', 'zxing_reader.wasm'].map((file) => `${address}page/${file}`)
    assert.deepEqual(asked.filter((url) => url.includes('zxing')).toSorted(), zxing)
    await page.goto(address)
    await pressOn(page, page.getByRole('link', { name: 'Scan', exact: true }))
    camera.show(`${address}#/plant?id=7`)
    await heading(page, 7).waitFor()
    await page.getByRole('gridcell', { name: 'Acer griseum' }).waitFor()
    await assertAtBothSizes(page)
    // Of several labels, the one in the middle counts.
    camera.show(...[7, 8, 9].map((id) => `https://plants.example/#/plant?id=${id}`))
    await page.getByRole('gridcell', { name: 'Begonia rex' }).waitFor()

    camera.show(`${address}#/plant?id=${free}`)
    await heading(page, free).waitFor()
    await untilFocused(page, page.getByLabel('Name'))
    await page.getByText('The camera waits while you type.').waitFor()
    camera.show(`${address}#/plant?id=9`)
    await page.keyboard.type('Dahlia “Thomas”')
    await assertAtBothSizes(page)
    assert.equal(await heading(page, free).count(), 1, 'a label takes the form away while somebody types')
    await page.keyboard.press('Enter')
    await page.getByRole('gridcell', { name: 'Cyclamen coum' }).waitFor()
    assert.deepEqual((await service.send('GET', `/plants/${free}`)).json, { id: free, name: 'Dahlia “Thomas”' })
    await page.waitForURL(/#\/scan\?id=9$/)

    // A hand scanner types what it reads, and then presses Enter.
    await tabTo(page, page.getByLabel('Id of a label'))
    for (const [typed, id] of [
      [`https://plants.example/#/plant?id=8`, 8],
      ['#7', 7],
    ] as const) {
      await page.keyboard.type(`${typed}\n`)
      await heading(page, id).waitFor()
    }
    await pressOn(page, page.getByRole('button', { name: 'Edit: 7' }))
    // The text of the camera may still be that of the field for ids.
    await untilFocused(page, page.getByLabel('Name'))
    await page.getByText('The camera waits while you type.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Hold a label into the frame.').waitFor()
    camera.show(`${address}#/plant?id=8`)
    await heading(page, 8).waitFor()
  })

  inBrowser('shows codes of others as text, and opens none of them', async (opened) => {
    const { page, address } = opened
    await open(opened)
    const asked = askedBy(page)
    const url = page.url()
    for (const text of [
      'https://plants.example.org/#/plant?id=07x',
      `${address}#/tokens`,
      `${address}other#/plant?id=7`,
      `${address}#/plant?id=99999999999999999999`,
      'javascript:alert(1)//#/plant?id=7',
      '<img src=x onerror=alert(1)>',
      'WIFI:S:greenhouse;T:WPA;P:secret;;',
    ]) {
      camera.show(text)
      await page.locator('.foreign').getByText(text, { exact: true }).waitFor()
      assert.equal(await page.locator('.foreign a, .foreign img').count(), 0)
    }
    await assertAccessible(page)
    camera.show(`${address}#token=ps_secret`)
    await page.getByText('This code signs somebody in.').waitFor()
    assert.ok(!(await page.locator('body').innerText()).includes('ps_secret'))
    assert.equal(page.url(), url)

    // The address of the service has changed since the label was printed.
    camera.show('http://192.168.1.20:8080/#/plant?id=8')
    const accept = page.getByRole('button', { name: 'Take labels with this address' })
    await accept.waitFor()
    await page.getByText('http://192.168.1.20:8080', { exact: true }).waitFor()
    await assertAccessible(page)
    assert.equal(page.url(), url)
    await pressOn(page, accept)
    await heading(page, 8).waitFor()
    camera.show('http://192.168.1.20:8080/#/plant?id=9')
    await heading(page, 9).waitFor()
    assert.deepEqual([...new Set(asked.map((each) => `${new URL(each).origin}/`))], [address])
  })

  // Digits behind Shift. The tests of typed codes read those of all keyboards.
  inBrowser('asks once if a scanner on a French keyboard reads the right id, then opens labels', async (opened) => {
    const { page, service, address } = opened
    const keyboard = KEYBOARDS['French'] ?? assert.fail()
    await service.create({ id: -7, name: 'Dahlia merckii' })
    await open(opened)
    const field = page.getByLabel('Id of a label')
    await tabTo(page, field)
    await pressAsScanner(page, `${address}#/plant?id=8`, keyboard)
    const accept = page.getByRole('button', { name: 'Yes, the id is 8', exact: true })
    await accept.waitFor()
    await page.getByRole('alert').getByText('8', { exact: true }).waitFor()
    assert.equal(await page.getByRole('heading', { name: /^Plant/ }).count(), 0, 'the page takes the id unasked')
    assert.equal(await field.inputValue(), '')
    await assertAccessible(page)
    await pressOn(page, accept, 'Enter', 'Shift+Tab')
    await heading(page, 8).waitFor()
    await untilFocused(page, field)
    await pressAsScanner(page, `${address}#/plant?id=7`, keyboard)
    await heading(page, 7).waitFor()
    // Its minus is another key, so the page asks again.
    await pressAsScanner(page, `${address}#/plant?id=-7`, keyboard)
    await page.getByRole('button', { name: 'Yes, the id is -7', exact: true }).click()
    await heading(page, -7).waitFor()
    await untilFocused(page, field)
    await pressAsScanner(page, `http://192.168.1.20:8080/#/plant?id=9`, keyboard)
    await page.getByRole('button', { name: 'Yes, the id is 9', exact: true }).waitFor()
    await heading(page, -7).waitFor()
    await pressAsScanner(page, `${address}#token=ps_secret`, keyboard)
    await page.getByText('This code signs somebody in.').waitFor()

    await page.goto(`${address}#/plants`)
    await tabTo(page, page.locator('#search'))
    for (const [id, plant] of [
      [8, 'Begonia rex'],
      [-7, 'Dahlia merckii'],
    ] as const) {
      await pressAsScanner(page, `${address}#/plant?id=${id}`, keyboard)
      await page.getByRole('gridcell', { name: plant }).waitFor()
      await until(page, `document.querySelectorAll('.plants [role=row][data-id]').length === 1`)
    }
  })

  onPhone('keeps a plant in sight that was typed at its label and not added', async (opened) => {
    const { page, address } = opened
    await open(opened)
    const id = 950 + PHONE.width
    camera.show(`${address}#/plant?id=${id}`)
    await untilFocused(page, page.getByLabel('Name'))
    await page.keyboard.type('Dahlia merckii')
    assert.equal(await page.getByText('not added').count(), 0, 'its form is in sight')
    await typeLabel(page, 8)
    await heading(page, 8).waitFor()
    await page.getByText('1 plant not added:').waitFor()
    await assertAtBothSizes(page)
    await page.goto(`${address}#/plants`)
    await pressOn(page, page.getByRole('button', { name: 'Add a plant (1 plant not added)' }))
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('link', { name: String(id), exact: true }), 'Enter', 'Shift+Tab')
    await heading(page, id).waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Add', exact: true }))
    await page.getByRole('gridcell', { name: 'Dahlia merckii' }).waitFor()
    await page.goto(`${address}#/plants`)
    await page.getByRole('button', { name: 'Add a plant', exact: true }).click()
    await page.getByLabel('Name').fill('Euonymus')
    await page.getByRole('button', { name: 'Add a plant', exact: true }).click()
    await page.getByRole('button', { name: 'Add a plant (1 plant not added)' }).waitFor()
    await assertAtBothSizes(page)
  })

  inBrowser('takes a label, and what a scanner adds to it, in the search field on any keyboard', async (opened) => {
    const { page, address } = opened
    await open(opened)
    await page.goto(`${address}#/plants`)
    const search = page.locator('#search')
    await tabTo(page, search)
    for (const [typed, plant] of [
      [`${address}#/plant?id=8`, 'Begonia rex'],
      [`]Q1${address}#/plant?id=7`, 'Acer griseum'],
      [`*${address}#/plant?id=9*\\n`, 'Cyclamen coum'],
      [`${address}#/plant?id=8`.toUpperCase(), 'Begonia rex'],
    ] as const) {
      await page.keyboard.type(`${typed}\n`)
      await page.getByRole('gridcell', { name: plant }).waitFor()
      assert.equal(await search.inputValue(), typed)
    }
    await page.keyboard.type(`${address}#/plant?id=999\n`)
    await page.getByText('No plant has the id 999 yet.').waitFor()
  })

  inBrowser('switches the camera off when the view is left, hidden or signed out', async (opened) => {
    const { page, context, address } = opened
    await context.addInitScript(`{
      const { mediaDevices } = navigator
      const open = mediaDevices.getUserMedia.bind(mediaDevices)
      window.streams = []
      mediaDevices.getUserMedia = async (wanted) => {
        const stream = await open(wanted)
        streams.push(stream)
        return stream
      }
    }`)
    await page.reload()
    await open(opened)
    const untilOn = (count: number) => until(page, `streams.filter(({ active }) => active).length === ${count}`)
    await untilOn(1)
    await hide(page, true)
    await untilOn(0)
    await hide(page, false)
    await untilOn(1)
    await page.getByText('Hold a label into the frame.').waitFor()
    await openView(page, 'Labels')
    await untilOn(0)
    await page.goBack()
    await untilOn(1)
    // Left before the browser has opened the camera.
    await hide(page, true)
    await page.evaluate(`{
      Object.defineProperty(document, 'hidden', { configurable: true, value: false })
      document.dispatchEvent(new Event('visibilitychange'))
      location.hash = '#/plants'
    }`)
    await page.locator('#search').waitFor()
    await until(page, 'streams.length === 4')
    await untilOn(0)
    await page.goto(`${address}#/scan`)
    await untilOn(1)
    await page.evaluate(`streams.at(-1).getTracks().forEach((track) => track.stop())`)
    await page.getByText('The camera was switched off.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Hold a label into the frame.').waitFor()
    await untilOn(1)
    await signOut(page)
    await page.getByLabel('Access token').waitFor()
    await untilOn(0)
  })

  // What Chromium and ZXing say about it.
  const expected = /net::ERR_|ermissions policy|wasm|ArrayBuffer|Aborted/
  onPhone('says what to do without the camera, or the reader of codes', { expected }, async ({ page, address }) => {
    const allow = await intercept(page, address, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, headers: { ...response.headers(), 'permissions-policy': 'camera=()' } })
    })
    await page.reload()
    await page.goto(`${address}#/scan`)
    await page.getByText('The browser does not let this page use the camera.').waitFor()
    await assertAccessible(page)
    await typeLabel(page, 8)
    await heading(page, 8).waitFor()
    await allow()
    for (const file of ['zxing.js', 'zxing_reader.wasm']) {
      const send = await intercept(page, `**/${file}`, (route) => route.abort('connectionreset'))
      await page.reload()
      await page.getByText('The reader of codes could not be loaded.').waitFor()
      await send()
      camera.show(`${address}#/plant?id=9`)
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('Hold a label into the frame.').waitFor()
      await heading(page, 9).waitFor()
    }
  })

  onPhone('says that the camera needs https, and leads to the address that has it', async ({ page, service }) => {
    await page.goto(`http://${HOST}:${service.port}/#token=${SECRET}`)
    await page.locator('#search').waitFor()
    await page.goto(`http://${HOST}:${service.port}/#/scan`)
    await page.getByText('Browsers open the camera only on pages with https').waitFor()
    await page.getByRole('link', { name: 'https://plants.example/#/scan' }).waitFor()
    await assertAccessible(page)
  })

  inBrowser('uses the reader of the browser if it has one for these codes, else ZXing', async (opened) => {
    const { page, context, address } = opened
    // Chromium has BarcodeDetector on Android, ChromeOS and macOS. Here, ZXing in this process stands in for theirs.
    await context.exposeFunction('readGrey', async (width: number, height: number, base64: string) => {
      const picture = Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), Buffer.from(base64, 'base64')])
      return (await codesIn(picture)).map(({ text, position: { topLeft, bottomRight } }) => ({
        rawValue: text,
        box: [topLeft.x, topLeft.y, bottomRight.x - topLeft.x, bottomRight.y - topLeft.y],
      }))
    })
    await context.addInitScript(`
      window.BarcodeDetector = class {
        static getSupportedFormats = async () => JSON.parse(sessionStorage.formats ?? '["aztec", "qr_code"]')
        async detect(video) {
          if (sessionStorage.isBroken) throw new DOMException('Barcode Detection not implemented.', 'NotSupportedError')
          const { videoWidth: width, videoHeight: height } = video
          const context = new OffscreenCanvas(width, height).getContext('2d')
          context.drawImage(video, 0, 0)
          const { data } = context.getImageData(0, 0, width, height)
          let grey = ''
          for (let i = 0; i < data.length; i += 4) grey += String.fromCharCode(data[i])
          const found = await readGrey(width, height, btoa(grey))
          return found.map(({ rawValue, box }) => ({ rawValue, boundingBox: new DOMRectReadOnly(...box) }))
        }
      }`)
    let loads = 0
    page.on('request', (request) => {
      if (request.url().endsWith('zxing.js')) loads += 1
    })
    const labels = [7, 8, 9].map((id) => `${address}#/plant?id=${id}`)
    await page.reload()
    await open(opened)
    camera.show(...labels)
    await heading(page, 8).waitFor()
    assert.equal(loads, 0, 'the page loads ZXing beside the reader of the browser')
    for (const [key, value] of [
      ['formats', '["ean_13"]'],
      ['isBroken', 'yes'],
    ]) {
      await page.evaluate(`delete sessionStorage.formats; sessionStorage.${key} = ${JSON.stringify(value)}`)
      // Otherwise the page of before would load ZXing too, if it is fast enough.
      await page.goto('about:blank')
      loads = 0
      await page.goto(`${address}#/scan`)
      await heading(page, 8).waitFor()
      assert.equal(loads, 1)
    }
  })
})
