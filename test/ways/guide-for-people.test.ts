import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { openView, typeLabel } from '../support/by-keyboard.ts'
import { type FakeCamera, fakeCamera } from '../support/camera.ts'
import { untilCount } from '../support/labels.ts'
import { pageTests } from '../support/page.ts'
import { drop } from '../support/page-files.ts'

const GUIDES = fileURLToPath(new URL('../../docs/guides/', import.meta.url))
const SIZE = { width: 1000, height: 640 }
const PICTURE = { viewport: SIZE, deviceScaleFactor: 1 }
/** A twelfth of the pictures may differ, so a small change of the page needs no new ones. */
const TOLERANCE = 1 / 12

/** The sheet of a nursery: columns with names of its own, no ids, and one row without a name. */
const SHEET = `Pflanze;Kategorie
Acer palmatum ‘Osakazuki’;greenhouse 1
Acer griseum;greenhouse 2
Ficus lyrata;houseplant
Ginkgo biloba;trees
Helleborus niger;shade
;shade
Lavandula angustifolia ‘Hidcote’;herbs
Monstera deliciosa;houseplant
Rosa × damascena;roses
Salvia officinalis;herbs
Taxus baccata;trees
Welwitschia mirabilis;greenhouse 2
`

/**
 * Follows the steps of the guide, and takes its pictures and that of the README. PLANTSTORE_PICTURES=write writes them. Otherwise the test
 * fails if a picture no longer looks like the page.
 */
suite('the guide for people', () => {
  let camera: FakeCamera
  const { inBrowser } = pageTests({
    args: (scene) => {
      camera = fakeCamera(scene)
      return camera.args
    },
  })

  inBrowser('leads from an empty store to labels, by pictures of the page', PICTURE, async ({ page, address, t }) => {
    const pages = ['people.md', '../../README.md'].map((page) => readFileSync(join(GUIDES, page), 'utf8'))
    const shown = pages.flatMap((text) => [...text.matchAll(/\bpictures\/([\w-]+)\.png\)/g)].map(([, name]) => name))
    const taken: string[] = []
    const take = async (name: string) => {
      taken.push(name)
      await page.mouse.move(0, 0)
      await t.test(`${name}.png`, () => compare(page, name))
    }

    await page.getByText('There are no plants yet.').waitFor()
    await take('page')
    await page.getByRole('button', { name: 'Remember on this device' }).click()

    await openView(page, 'Import')
    await drop(page, 'plants.csv', SHEET)
    await page.getByRole('button', { name: 'Check the file' }).waitFor()
    await take('columns')
    await page.getByRole('button', { name: 'Check the file' }).click()
    await page.getByText('Added: 11').waitFor()
    await page.getByText('Refused: 1').scrollIntoViewIfNeeded()
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await take('check')
    await page.getByRole('button', { name: 'Import 11 plants' }).click()
    await page.getByRole('heading', { name: 'Imported' }).waitFor()

    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await untilCount(page.locator('[role=row][data-id]'), 11)
    await page.getByText('That is all.').waitFor()
    await take('plants')
    await page.getByLabel('Search plants').fill('acer greenh')
    await untilCount(page.locator('[role=row][data-id]'), 2)
    await page.getByText('That is all.').waitFor()
    await take('search')
    await page.getByLabel('Search plants').fill('')
    await untilCount(page.locator('[role=row][data-id]'), 11)

    const boxes = page.getByRole('checkbox', { name: /^Select \d/ })
    await boxes.nth(1).click()
    await boxes.nth(4).click({ modifiers: ['Shift'] })
    await page.getByLabel('More actions').click()
    await page.getByRole('button', { name: 'Replace text' }).click()
    await page.getByLabel('Find', { exact: true }).fill('i')
    await page.getByLabel('Replace with').fill('j')
    await page.getByRole('button', { name: /^Change \d/ }).waitFor()
    await take('many')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Clear' }).click()

    await page.getByRole('search').getByRole('link', { name: 'Print labels' }).click()
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByText('11 labels', { exact: true }).waitFor()
    await page.getByLabel('Address of the service, for phones').fill('http://192.168.1.20:8080')
    await page.locator('.preview').scrollIntoViewIfNeeded()
    await page.evaluate(`document.getElementById('preview').scrollIntoView()`)
    await take('labels')

    const houseplants = page.getByRole('row', { name: 'houseplant' })
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await untilCount(houseplants, 2)
    const [ficus, monstera] = await houseplants.locator('.id').allTextContents()
    camera.show()
    await page.getByRole('link', { name: 'Scan', exact: true }).click()
    await page.getByText('Hold a label into the frame.').waitFor()
    camera.show(`${address}#/plant?id=${monstera}`)
    await page.getByRole('gridcell', { name: 'Monstera deliciosa' }).waitFor()
    await page.getByText('Added').waitFor()
    await take('scan')
    await page.goto(`${address}#/stocktake?tag=houseplant`)
    await page.getByRole('button', { name: 'Begin with the plants that match' }).click()
    for (const id of [ficus, String(BigInt(monstera ?? '') + 1n)]) {
      await typeLabel(page, id ?? '')
    }
    await page.getByText('is not one of these plants.').waitFor()
    await take('stocktake')
    assert.deepEqual(taken.toSorted(), shown.toSorted())
  })
})

async function compare(page: Page, name: string): Promise<void> {
  const path = join(GUIDES, 'pictures', `${name}.png`)
  const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' })
  if (process.env['PLANTSTORE_PICTURES'] === 'write') writeFileSync(path, picture)
  assert.ok(existsSync(path), `${path} is missing; PLANTSTORE_PICTURES=write makes it`)
  const difference = await differenceOf(page, picture, readFileSync(path))
  assert.ok(
    difference < TOLERANCE,
    `${name}.png differs by ${difference} from the page; PLANTSTORE_PICTURES=write renews it`,
  )
}

/** The difference of two pictures, averaged over squares of 20 pixels: from 0 to 1. */
async function differenceOf(page: Page, one: Buffer, other: Buffer): Promise<number> {
  // The content security policy of the page forbids pictures that the service does not serve.
  const blank = await page.context().newPage()
  try {
    return await blank.evaluate<number>(`(async () => {
      const [width, height] = [${SIZE.width / 20}, ${SIZE.height / 20}]
      const dots = []
      for (const base64 of ${JSON.stringify([one, other].map((picture) => picture.toString('base64')))}) {
        const bytes = Uint8Array.from(atob(base64), (digit) => digit.charCodeAt(0))
        const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
        if (bitmap.width !== ${SIZE.width} || bitmap.height !== ${SIZE.height}) return 1
        const context = new OffscreenCanvas(width, height).getContext('2d')
        context.imageSmoothingQuality = 'high'
        context.drawImage(bitmap, 0, 0, width, height)
        dots.push(context.getImageData(0, 0, width, height).data)
      }
      const [first, second] = dots
      return first.reduce((sum, value, i) => sum + Math.abs(value - second[i]), 0) / (first.length * 255)
    })()`)
  } finally {
    await blank.close()
  }
}
