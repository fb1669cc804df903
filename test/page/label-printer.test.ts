import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { zplOf } from '../../web/src/labels/zpl.ts'
import { pressOn, untilFocused } from '../support/by-keyboard.ts'
import { type Opened, pageTests, until } from '../support/page.ts'
import { saved, savedFile } from '../support/page-files.ts'
import { askedBy } from '../support/page-network.ts'
import { codesIn, codesOn, drawPages, greyAt } from '../support/pdf-pages.ts'

/** A picture as a label printer has it: bytes of eight dots, highest bit first, 1 black. */
interface Dots {
  readonly width: number
  readonly height: number
  readonly bytes: Uint8Array
}

/** All that the page may write: a picture on a label of its size. So a printer keeps its own home of labels (^LH). */
const LABEL = /\^XA\^PW(\d+)\^LL(\d+)\^FO0,0\^GFA,(\d+),(\d+),(\d+),([0-9A-Zg-z:,]+)\^FS\^XZ\n/y

/** Reads labels as a printer does: ^GF with the compression of ZPL II, by Zebra's programming guide. */
function labelsIn(zpl: string): Dots[] {
  const labels: Dots[] = []
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < zpl.length) {
    const at = LABEL.lastIndex
    const [, width, height, sent, total, rowBytes, data] = (LABEL.exec(zpl) ?? assert.fail(zpl.slice(at, at + 80))).map(
      String,
    )
    assert.equal(sent, total)
    assert.equal(Number(rowBytes), Math.ceil(Number(width) / 8))
    assert.equal(Number(total), Number(rowBytes) * Number(height))
    const bytes = Buffer.from(expanded(data ?? '', Number(rowBytes) * 2), 'hex')
    assert.equal(bytes.length, Number(total))
    labels.push({ width: Number(width), height: Number(height), bytes })
  }
  return labels
}

function expanded(data: string, rowDigits: number): string {
  let all = ''
  let row = ''
  let count = 0
  for (const letter of data) {
    if (/[G-Y]/.test(letter)) count += letter.charCodeAt(0) - 'G'.charCodeAt(0) + 1
    else if (/[g-z]/.test(letter)) count += (letter.charCodeAt(0) - 'g'.charCodeAt(0) + 1) * 20
    else if (letter === ':') all += all.slice(-rowDigits)
    else {
      row += letter === ',' ? '0'.repeat(rowDigits - row.length) : letter.repeat(Math.max(1, count))
      count = 0
      assert.ok(row.length <= rowDigits, 'a row has too many dots')
    }
    if (row.length === rowDigits) {
      all += row
      row = ''
    }
  }
  assert.equal(row, '')
  return all
}

/** The picture as PGM, with a white margin as paper around it. */
function pictureOf({ width, height, bytes }: Dots): Uint8Array {
  const rowBytes = Math.ceil(width / 8)
  const grey = Buffer.alloc(width * height, 255)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (((bytes[y * rowBytes + (x >> 3)] ?? 0) & (0x80 >> (x & 7))) !== 0) grey[y * width + x] = 0
    }
  }
  return Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), grey])
}

/** Names that are commands, no plain text, or hard to draw, and texts that spreadsheets calculate. */
const PLANTS = [
  { id: -(2n ** 63n), name: '^XZ~JR^XA^FDRosa_5E', tag: '~DG' },
  { id: 2n ** 63n - 1n, name: 'שושן צחור (Lilium candidum)', tag: '-3' },
  { id: 11n, name: '中国水仙 🌱', tag: '@bed' },
  { id: 12n, name: '=1+1', tag: '+2' },
  { id: 13n, name: 'Chlorophytum "comosum"; a, b'.repeat(30), tag: undefined },
]
const BASE = 'http://192.168.1.20:8080'
const EXPECTED = PLANTS.flatMap(({ id }) => [String(id), `${BASE}/#/plant?id=${id}`]).toSorted()

/** Opens the labels of all plants, with an address for phones, and with bars. */
async function open({ page, service, address }: Opened): Promise<void> {
  const body = PLANTS.map(({ id, name, tag }) => `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`).join('\n')
  await service.importFile(body)
  await page.goto(`${address}#/labels?all`)
  await page.getByText(`${PLANTS.length} labels`, { exact: true }).waitFor()
  await page.getByLabel('Address of the service, for phones').fill(BASE)
  await page.getByLabel('Code', { exact: true }).selectOption('both')
}

/** Replaces the list of printers, which nobody would answer, by one printer, behind the interface of the specification. */
const withPrinter = ({ context }: Opened): Promise<unknown> =>
  context.addInitScript(`
    const endpoints = [{ endpointNumber: 2, direction: 'in', type: 'bulk' }, { endpointNumber: 1, direction: 'out', type: 'bulk' }]
    const printer = {
      configuration: null,
      open: async () => {
        if (sessionStorage.refused === 'yes') throw new DOMException('Access denied.', 'SecurityError')
        window.got = []
      },
      selectConfiguration: async (value) => {
        printer.configuration = { interfaces: [{ interfaceNumber: 3, alternate: { interfaceClass: 7, endpoints } }] }
      },
      claimInterface: async (number) => window.got.push('claimed ' + number),
      transferOut: async (endpoint, data) => {
        window.got.push(new TextDecoder().decode(data))
        return { status: endpoint === 1 && sessionStorage.refused !== 'stalled' ? 'ok' : 'stall' }
      },
      close: async () => document.body.setAttribute('data-closed', ''),
    }
    Object.defineProperty(navigator, 'usb', {
      value: {
        requestDevice: async ({ filters }) => {
          if (sessionStorage.refused === 'none') throw new DOMException('No device selected.', 'NotFoundError')
          return filters[0].classCode === 7 ? printer : undefined
        },
      },
    })`)

suite('labels for label printers', () => {
  const { inBrowser } = pageTests()

  inBrowser('are commands that print only pictures, whose codes a scanner reads, also shifted', async (opened) => {
    const { page, address } = opened
    const asked = askedBy(page)
    await open(opened)
    await page.getByLabel('Labels on').selectOption('roll')
    await page.getByText('Label printers (ZPL)').click()
    assert.ok(!asked.includes(`${address}page/label-printer.js`), 'the page loads the commands of printers unasked')
    const [width, height] = [62 / 25.4, 29 / 25.4]
    for (const dpi of [203, 300]) {
      await page.getByLabel('Resolution of the printer').selectOption(String(dpi))
      const { name, bytes } = await savedFile(page, 'Save as ZPL')
      assert.equal(name, 'labels.zpl')
      const labels = labelsIn(String(bytes))
      assert.equal(labels.length, PLANTS.length)
      for (const label of labels) {
        assert.deepEqual([label.width, label.height], [Math.round(width * dpi), Math.round(height * dpi)])
      }
      const codes = (await Promise.all(labels.map((label) => codesIn(pictureOf(label))))).flat()
      assert.deepEqual(codes.map(({ text: code }) => code).toSorted(), EXPECTED, `${dpi} dpi`)
    }
    await page.reload()
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByText('Label printers (ZPL)').click()
    assert.equal(await page.getByLabel('Resolution of the printer').inputValue(), '300')
    const placed = async () => {
      const labels = labelsIn(await saved(opened, 'Save as ZPL'))
      const codes = (await Promise.all(labels.map((label) => codesIn(pictureOf(label))))).flat()
      return new Map(codes.map(({ text: code, position }) => [code, position.topLeft.x]))
    }
    const before = await placed()
    const shift = page.getByLabel('Shift to the right, to the left below 0, mm')
    await shift.fill('-2')
    for (const [code, at] of await placed()) {
      const moved = at - (before.get(code) ?? assert.fail(code))
      assert.ok(Math.abs(moved + (2 / 25.4) * 300) <= 2, `${code} moves by ${moved} dots`)
    }
    await shift.fill('-3')
    await page.getByText('must be from -2.5 to 2.5').waitFor()
  })

  inBrowser('go to a USB printer that the person chooses, or the page says that the system refuses', async (opened) => {
    const { page } = opened
    await withPrinter(opened)
    await page.reload()
    await open(opened)
    await page.getByLabel('Labels on').selectOption('roll')
    await pressOn(page, page.getByText('Label printers (ZPL)'))
    const send = page.getByRole('button', { name: 'Send to a USB printer' })
    await pressOn(page, send)
    await page.getByText('The labels were sent to the printer.').waitFor()
    await until(page, `document.body.hasAttribute('data-closed')`)
    const [claimed, ...parts] = await page.evaluate<string[]>('window.got')
    assert.equal(claimed, 'claimed 3')
    assert.equal(labelsIn(parts.join('')).length, PLANTS.length)
    await untilFocused(page, send)
    const refused = page.getByText('The browser could not use this printer')
    await page.evaluate(`sessionStorage.refused = 'stalled'`)
    await send.click()
    await refused.waitFor()
    await page.evaluate(`sessionStorage.refused = 'none'`)
    await send.click()
    await page.locator('button[aria-disabled=false]', { hasText: 'Send to a USB printer' }).waitFor()
    assert.equal(await refused.count(), 0)
    await page.evaluate(`sessionStorage.refused = 'yes'`)
    await send.click()
    await refused.waitFor()
  })

  inBrowser('are refused where bars of 203 dpi are wider than they', async (opened) => {
    const { page } = opened
    await open(opened)
    await page.getByLabel('Labels on').selectOption('own')
    await page.getByLabel('Width of a label, mm').fill('30')
    await page.getByLabel('Code', { exact: true }).and(page.locator('[aria-invalid=true]')).waitFor()
    await page.getByLabel('Width of a label, mm').fill('50')
    await page.getByText('Label printers (ZPL)').click()
    await page.getByText(`The code of ${PLANTS[0]?.id} does not fit on this label`).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Save as ZPL' }).count(), 0)
    await page.getByLabel('Resolution of the printer').selectOption('300')
    await page.getByRole('button', { name: 'Save as ZPL' }).waitFor()
  })

  inBrowser('are saved as CSV with addresses and every text as it is, with a warning of formulas', async (opened) => {
    const { page } = opened
    await open(opened)
    const { name, bytes } = await savedFile(page, 'Save as CSV')
    assert.equal(name, 'labels.csv')
    const quoted = (value: string) => (/[",;]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)
    const rows = PLANTS.toSorted((one, other) => (one.id < other.id ? -1 : 1)).map(({ id, name: plant, tag }) =>
      [String(id), quoted(plant), tag ?? '', `${BASE}/#/plant?id=${id}`].join(','),
    )
    assert.equal(String(bytes), ['\ufeffid,name,tag,address', ...rows, ''].join('\r\n'))
    await page.getByText(/4 (?:names|texts|names and tags)/).waitFor()
  })

  inBrowser('have a test print: the frames of all labels in their places, and a scale', async (opened) => {
    const { page } = opened
    await page.evaluate(`window.print = () => document.body.setAttribute('data-asked', '')`)
    await open(opened)
    await pressOn(page, page.getByRole('button', { name: 'Test print' }))
    await page.locator('body[data-asked]').waitFor()
    const pages = await drawPages(await page.pdf({ preferCSSPageSize: true }), 600)
    const [drawn] = pages
    assert.ok(drawn && pages.length === 1)
    assert.ok(Math.abs(drawn.width - 210) < 0.2 && Math.abs(drawn.height - 297) < 0.2)
    for (const [x, y] of [
      [7.25, 30],
      [30, 15.15],
      [7.25 + 132 + 63.5, 15.15 + 6.5 * 38.1],
    ] as const) {
      assert.ok(greyAt(drawn, x, y) < 128, `no frame at ${x}, ${y}`)
      assert.ok(greyAt(drawn, x + 1, y + 1) > 200)
    }
    assert.deepEqual(await codesOn(drawn), [])
    const scale = 15.15 + 38.1 / 2
    const begin = 7.25 + (63.5 - 50) / 2
    assert.ok(greyAt(drawn, begin + 0.3, scale) < 128 && greyAt(drawn, begin + 49.7, scale) < 128)
    assert.ok(greyAt(drawn, begin + 51, scale) > 200)
  })
})

test('commands of printers keep every dot, whatever the picture', () => {
  let seed = 7
  const next = (): number => {
    seed = (seed * 48271) % 2147483647
    return seed
  }
  for (const width of [1, 8, 9, 16, 495, 4000]) {
    const height = 40
    const rowBytes = Math.ceil(width / 8)
    const rows = Array.from({ length: height }, (_, y) =>
      Uint8Array.from(
        { length: rowBytes },
        (_byte, x) => [0, 255, next() & 255, x > rowBytes / 2 ? 0 : 0x11][y % 4] ?? 0,
      ),
    )
    rows[20] = rows[19] ?? assert.fail()
    const bits = Uint8Array.from(rows.flatMap((row) => [...row]))
    const [label, ...others] = labelsIn(zplOf({ width, height, bits }))
    assert.deepEqual([label?.width, label?.height, others], [width, height, []])
    assert.deepEqual(label?.bytes, Buffer.from(bits), `${width} dots`)
  }
  assert.ok(zplOf({ width: 800, height: 1000, bits: new Uint8Array(100_000) }).length < 1100, 'paper takes no room')
})
