import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { QUIET, qrCodeOf } from '../../web/src/codes/qr-code.ts'
import {
  type LabelJob,
  labelsOfPage,
  type PlacedLabel,
  pagesOf,
  pdfOf,
  tooThin,
  typeFor,
} from '../../web/src/labels/document.ts'
import type { Codes, LabelLayout } from '../../web/src/labels/layout.ts'
import type { Bitmap } from '../../web/src/labels/pdf.ts'
import { A5160, L7160, labelsPerPage, roll, type Sheet } from '../../web/src/labels/sheets.ts'
import { inkIn } from '../support/ink.ts'
import { measure, WORDING } from '../support/labels.ts'
import { codesOn, type DrawnPage, drawPages, greyAt } from '../support/pdf-pages.ts'

const ENDS = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n]
const addressOf = (id: bigint): string => `http://192.168.178.20:8080/#/plant?id=${id}`

const jobOf = (sheet: Sheet, count: number, skip = 0): LabelJob => ({
  labels: Array.from({ length: count }, (_, i) => ({ id: ENDS[i] ?? BigInt(i), name: `Plant ${i}`, tag: undefined })),
  sheet,
  skip,
  addressOf,
  wording: WORDING,
  codes: 'qr',
})

/** A bitmap that is all black. */
const raster = (): Bitmap => ({ width: 9, height: 2, bits: Uint8Array.of(0xff, 0x80, 0xff, 0x80) })

const fileOf = (job: LabelJob, parts: Partial<Parameters<typeof pdfOf>[1]> = {}): Promise<Blob> =>
  pdfOf(job, { type: typeFor(job, measure), raster, onPage: () => {}, ...parts })

async function bytesOf(job: LabelJob, parts?: Parameters<typeof fileOf>[1]): Promise<Uint8Array> {
  return new Uint8Array(await (await fileOf(job, parts)).arrayBuffer())
}

suite('labels as a PDF file', () => {
  const cases: readonly (readonly [string, Sheet, number, number])[] = [
    ['Avery L7160', L7160, 25, 2],
    ['Avery 5160', A5160, 30, 0],
    ['a roll of 62 mm', roll(62, 29), 2, 0],
    ['a roll that is shifted to the left', roll(62, 29, -2), 2, 0],
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

  test('have their ids as bars that a scanner reads, beside the QR code or alone', async () => {
    for (const sheet of [L7160, A5160, roll(62, 29)]) {
      for (const codes of ['bars', 'both'] as const) {
        const job: LabelJob = { ...jobOf(sheet, 3), codes }
        assert.equal(tooThin(job), undefined)
        const pages = await drawPages(await bytesOf(job), 300)
        const found = (await Promise.all(pages.map(codesOn))).flat()
        const ids = ENDS.map(String)
        const expected = codes === 'both' ? [...ids, ...ENDS.map(addressOf)] : ids
        assert.deepEqual(found.map(({ text }) => text).toSorted(), expected.toSorted(), codes)
        for (const { left, right } of found) assert.ok(left > 0 && right < sheet.width)
      }
    }
  })

  test('are refused where the lines of a code would be too thin to read', () => {
    const job = (id: bigint, sheet: Sheet, codes: Codes): LabelJob => ({
      ...jobOf(sheet, 0),
      codes,
      labels: [1n, id].map((each) => ({ id: each, name: '', tag: undefined })),
    })
    const [long = 0n] = ENDS
    assert.equal(tooThin(job(long, roll(30, 20), 'bars'))?.id, long)
    assert.equal(tooThin(job(1234n, roll(30, 20), 'bars')), undefined)
    assert.equal(tooThin(job(long, roll(20, 12), 'qr'))?.id, long)
    assert.equal(tooThin(job(long, roll(62, 29), 'both')), undefined)
    // Its dots are larger: three of 300 dpi fit where only one of 203 dpi does.
    assert.equal(tooThin(job(long, roll(51, 25), 'bars')), undefined)
    assert.equal(tooThin(job(long, roll(51, 25), 'bars'), 25.4 / 203)?.id, long)
    assert.equal(tooThin({ ...job(1n, L7160, 'both'), labels: [] }), undefined)
  })

  test('have sharp codes: each pixel is black or white at the resolution of the printer', async () => {
    // An inch is a whole number of dots, so the drawing is exactly as large as the page.
    const job = { ...jobOf(roll(2 * 25.4, 25.4), 1), wording: { ...WORDING, lines: [] } }
    const [page] = await drawPages(await bytesOf(job), 600)
    const dots = page?.pixels.grey ?? assert.fail('there is no page')
    const black = dots.filter((dot) => dot < 8).length
    const grey = dots.filter((dot) => dot >= 8 && dot < 248).length
    assert.ok(black > 50_000 && grey < black / 100, `${grey} grey and ${black} black pixels`)
  })

  test('can be read with a spot of dirt of 8 by 8 modules on their codes', async () => {
    for (const id of [1n, ...ENDS]) {
      const job: LabelJob = { ...jobOf(roll(62, 29), 1), labels: [{ id, name: 'x', tag: undefined }] }
      const [page] = await drawPages(await bytesOf(job), 300)
      const [placed] = labelsOfPage(job, 0, typeFor(job, measure))
      assert.ok(page && placed)
      const { size } = qrCodeOf(addressOf(id))
      for (const [x, y] of [
        [9, 9],
        [size - 10, 9],
        [Math.floor(size / 2), Math.floor(size / 2)],
        [9, size - 8],
      ] as const) {
        const found = await codesOn(withSpot(page, placed, x, y))
        const texts = found.map(({ text }) => text)
        assert.deepEqual(texts, [addressOf(id)], `${id} with a spot at ${x}, ${y}`)
      }
    }
  })

  test('have their texts as texts where every viewer has the letters, and draw only the others', async () => {
    const names = ['Rosa ‘Gloria Dei’ – 5 € × 2…', 'Żółw', 'Äpfel (Größe “é”)', 'Rosa שושן', 'soft\u00adhyphen']
    const labels = names.map((name, i) => ({ id: BigInt(i) - 7n, name, tag: `Beet ${i}` }))
    const drawn: string[][] = []
    const job = { ...jobOf(L7160, 0), labels }
    const own = (layout: LabelLayout): Bitmap => {
      drawn.push(layout.runs.map(({ text }) => text))
      return { width: 8, height: 1, bits: Uint8Array.of(0) }
    }
    const [page] = await drawPages(await bytesOf(job, { raster: own }), 300)
    assert.ok(page)
    assert.deepEqual(drawn, [['Żółw'], ['Rosa שושן'], ['soft\u00adhyphen']])
    const rows = labels.flatMap(({ id, name, tag }, i) => [...([0, 2].includes(i) ? [name] : []), tag, String(id)])
    assert.equal(page.text.replaceAll(/\s+/g, ' '), rows.join(' '))
    // Upright, and from the beginning to the end that the layout has for them.
    for (const { x, y, layout } of labelsOfPage(job, 0, typeFor(job, measure))) {
      const { size, runs } = layout
      const { text, style, x: left, y: base } = runs.at(-1) ?? assert.fail()
      const width = measure(text, size, style)
      const inkAt = (from: number, wide: number): number =>
        inkIn(page, { x: x + left + from, y: y + base - size, width: wide, height: size }).size
      assert.ok(inkAt(0, width / 2) > 50 && inkAt(width / 2, width / 2) > 50, text)
      assert.deepEqual([inkAt(-1, 1), inkAt(width, 1)], [0, 0], text)
    }
  })

  test('have the other texts upright and in place', async () => {
    const job = { ...jobOf(L7160, 1), wording: { ...WORDING, lines: ['Ρόδον'] } }
    const corner = (): Bitmap => ({ width: 8, height: 2, bits: Uint8Array.of(0x80, 0x00) })
    const [page] = await drawPages(await bytesOf(job, { raster: corner }), 150)
    const [placed] = labelsOfPage(job, 0, typeFor(job, measure))
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
    const file = await fileOf(jobOf(roll(62, 29), 3), { onPage: (count) => seen.push(count) })
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
function withSpot(page: DrawnPage, { x, y, codes: [code] }: PlacedLabel, column: number, row: number): DrawnPage {
  const { pixels, scale } = page
  assert.ok(code)
  const dots = (mm: number) => Math.round(mm * scale)
  const [left, top] = [dots(x + code.x + column * code.width), dots(y + code.y + row * code.height)]
  const side = dots(8 * code.width)
  const grey = Uint8Array.from(pixels.grey)
  for (let line = top; line < top + side; line++) {
    grey.fill(255, line * pixels.width + left, line * pixels.width + left + side)
  }
  return { ...page, pixels: { ...pixels, grey } }
}

/** Checks that a decoder reads the address of each label at the place of its code. */
async function assertCodes(page: DrawnPage, job: LabelJob, number: number): Promise<void> {
  const expected = labelsOfPage(job, number, typeFor(job, measure))
  const found = await codesOn(page)
  assert.deepEqual(new Set(found.map(({ text }) => text)), new Set(expected.map(({ label }) => addressOf(label.id))))
  assert.equal(found.length, expected.length)
  for (const { x, y, label, codes } of expected) {
    const { left, top, right, bottom } = found.find(({ text }) => text === addressOf(label.id)) ?? assert.fail()
    const [code] = codes
    assert.ok(code)
    const side = qrCodeOf(addressOf(label.id)).size * code.width
    // Modules large enough for the camera of a phone, and a quiet zone inside the label.
    assert.ok(code.width >= 0.33, `${code.width} mm`)
    assert.ok(code.x >= QUIET * code.width)
    near(left, x + code.x)
    near(top, y + code.y)
    near(right, x + code.x + side)
    near(bottom, y + code.y + side)
  }
}
