import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { QUIET } from '../../web/src/labels/code.ts'
import {
  type LabelJob,
  labelsOfPage,
  moduleGrid,
  type PlacedLabel,
  pagesOf,
  pdfOf,
} from '../../web/src/labels/document.ts'
import type { Bitmap } from '../../web/src/labels/pdf.ts'
import { A5160, L7160, labelsPerPage, roll, type Sheet } from '../../web/src/labels/sheets.ts'
import { measure } from '../support/labels.ts'
import { codesOn, type DrawnPage, drawPages, greyAt } from '../support/pdf-pages.ts'

const ENDS = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n]
const addressOf = (id: bigint): string => `http://192.168.178.20:8080/#/plant?id=${id}`

const jobOf = (sheet: Sheet, count: number, skip = 0): LabelJob => ({
  labels: Array.from({ length: count }, (_, i) => ({ id: ENDS[i] ?? BigInt(i), name: `Plant ${i}`, tag: undefined })),
  sheet,
  skip,
  addressOf,
})

/** A bitmap that is all black. */
const raster = (): Bitmap => ({ width: 9, height: 2, bits: Uint8Array.of(0xff, 0x80, 0xff, 0x80) })

async function bytesOf(job: LabelJob): Promise<Uint8Array> {
  return new Uint8Array(await (await pdfOf(job, { measure, raster, onPage: () => {} })).arrayBuffer())
}

suite('labels as a PDF file', () => {
  const cases: readonly (readonly [string, Sheet, number, number])[] = [
    ['Avery L7160', L7160, 25, 2],
    ['Avery 5160', A5160, 30, 0],
    ['a roll of 62 mm', roll(62, 29), 2, 0],
    ['a custom sheet', { ...L7160, columns: 1, rows: 2, labelWidth: 30, labelHeight: 60, down: 70, left: 90 }, 2, 0],
  ]
  for (const [title, sheet, count, skip] of cases) {
    test(`have pages and codes in place to a tenth of a millimetre: ${title}`, async () => {
      const job = jobOf(sheet, count, skip)
      const pages = await drawPages(await bytesOf(job), 300)
      assert.equal(pages.length, Math.ceil((count + skip) / labelsPerPage(sheet)))
      assert.equal(pages.length, pagesOf(job))
      for (const [i, page] of pages.entries()) {
        near(page.width, sheet.width)
        near(page.height, sheet.height)
        await assertCodes(page, job, i)
      }
    })
  }

  test('have sharp codes: each pixel is black or white at the resolution of the printer', async () => {
    // An inch is a whole number of dots, so the drawing is exactly as large as the page.
    const blank = (): Bitmap => ({ width: 8, height: 1, bits: Uint8Array.of(0) })
    const file = await pdfOf(jobOf(roll(2 * 25.4, 25.4), 1), { measure, raster: blank, onPage: () => {} })
    const [page] = await drawPages(new Uint8Array(await file.arrayBuffer()), 600)
    const dots = page?.pixels.grey ?? assert.fail('there is no page')
    const black = dots.filter((dot) => dot < 8).length
    const grey = dots.filter((dot) => dot >= 8 && dot < 248).length
    assert.ok(black > 50_000 && grey < black / 100, `${grey} grey and ${black} black pixels`)
  })

  test('can be read with a spot of dirt of 8 by 8 modules on their codes', async () => {
    for (const id of [1n, ...ENDS]) {
      const job: LabelJob = { ...jobOf(roll(62, 29), 1), labels: [{ id, name: 'x', tag: undefined }] }
      const [page] = await drawPages(await bytesOf(job), 300)
      const [placed] = labelsOfPage(job, 0, measure)
      assert.ok(page && placed)
      const { size } = placed.code
      for (const [x, y] of [
        [9, 9],
        [size - 10, 9],
        [Math.floor(size / 2), Math.floor(size / 2)],
        [9, size - 8],
      ] as const) {
        const found = await codesOn(withSpot(page, placed, x, y))
        assert.deepEqual(
          found.map(({ text }) => text),
          [addressOf(id)],
          `${id} with a spot at ${x}, ${y}`,
        )
      }
    }
  })

  test('have their texts upright and in place', async () => {
    const job = jobOf(L7160, 1)
    const corner = (): Bitmap => ({ width: 8, height: 2, bits: Uint8Array.of(0x80, 0x00) })
    const file = await pdfOf(job, { measure, raster: corner, onPage: () => {} })
    const [page] = await drawPages(new Uint8Array(await file.arrayBuffer()), 150)
    const [placed] = labelsOfPage(job, 0, measure)
    assert.ok(page && placed)
    const { text } = placed.layout
    const at = (x: number, y: number) => greyAt(page, placed.x + text.x + x, placed.y + text.y + y)
    assert.equal(at(text.width / 16, text.height / 4), 0, 'the first pixel of the bitmap is at the top left')
    for (const [x, y] of [
      [text.width * 0.9, 1],
      [1, text.height * 0.9],
      [-1, 1],
      [1, -1],
    ] as const) {
      assert.equal(at(x, y), 255, `${x} ${y}`)
    }
  })

  test('ask viewers to print in real size, have a title, and report each finished page', async () => {
    const seen: number[] = []
    const file = await pdfOf(jobOf(roll(62, 29), 3), { measure, raster, onPage: (count) => seen.push(count) })
    const text = Buffer.from(await file.arrayBuffer()).toString('latin1')
    assert.match(text, /^%PDF-1\.7\n/)
    assert.match(text, /\/PrintScaling \/None/)
    assert.match(text, /\/Title <feff004c006100620065006c0073>/)
    assert.deepEqual([file.type, seen], ['application/pdf', [1, 2, 3]])
  })

  test('are small: 300 labels take less than a photo', async () => {
    const { length } = await bytesOf(jobOf(A5160, 300))
    assert.ok(length < 900_000, `${length} bytes`)
  })
})

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 0.1, `${actual} mm instead of ${expected} mm`)

/** A copy of the page with 8 by 8 white modules on a code, from a module on. */
function withSpot(page: DrawnPage, { x, y, code, layout }: PlacedLabel, column: number, row: number): DrawnPage {
  const { pixels, scale } = page
  const grid = moduleGrid(code, layout.code)
  const dots = (mm: number) => Math.round(mm * scale)
  const [left, top] = [dots(x + grid.x + column * grid.module), dots(y + grid.y + row * grid.module)]
  const side = dots(8 * grid.module)
  const grey = Uint8Array.from(pixels.grey)
  for (let line = top; line < top + side; line++) {
    grey.fill(255, line * pixels.width + left, line * pixels.width + left + side)
  }
  return { ...page, pixels: { ...pixels, grey } }
}

/** Checks that a decoder reads the address of each label at the place of its code. */
async function assertCodes(page: DrawnPage, job: LabelJob, number: number): Promise<void> {
  const expected = labelsOfPage(job, number, measure)
  const found = await codesOn(page)
  assert.deepEqual(new Set(found.map(({ text }) => text)), new Set(expected.map(({ label }) => addressOf(label.id))))
  assert.equal(found.length, expected.length)
  for (const { x, y, label, layout, code } of expected) {
    const { left, top, right, bottom } = found.find(({ text }) => text === addressOf(label.id)) ?? assert.fail()
    const grid = moduleGrid(code, layout.code)
    // Modules large enough for the camera of a phone, and a quiet zone inside the label.
    assert.ok(grid.module >= 0.33, `${grid.module} mm`)
    assert.ok(grid.x >= QUIET * grid.module)
    near(left, x + grid.x)
    near(top, y + grid.y)
    near(right, x + grid.x + code.size * grid.module)
    near(bottom, y + grid.y + code.size * grid.module)
  }
}
