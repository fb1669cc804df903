import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { BAR_QUIET, code128Of } from '../../web/src/codes/code-128.ts'
import type { LabelText } from '../../web/src/codes/qr-code.ts'
import { QUIET, qrCodeOf } from '../../web/src/codes/qr-code.ts'
import { type Box, CODES, type Codes, type LabelLayout, layOut, sizeFor } from '../../web/src/labels/layout.ts'
import { A5160, faultsOf, L7160, labelsPerPage, placeOf, roll, type Sheet } from '../../web/src/labels/sheets.ts'
import { cut, directionOf, onOneLine, wrap } from '../../web/src/labels/text.ts'
import { linesOf, unknownFields } from '../../web/src/labels/wording.ts'
import { measure, WORDING } from '../support/labels.ts'
import { codesIn } from '../support/pdf-pages.ts'

const POINT = 25.4 / 72

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 0.01, `${actual} is not ${expected}`)

const SHEETS: Readonly<Record<string, Sheet>> = { L7160, A5160, 'roll 62 x 29': roll(62, 29) }

suite('sheets of labels', () => {
  test('have the dimensions that their makers publish', () => {
    assert.deepEqual([labelsPerPage(L7160), labelsPerPage(A5160), labelsPerPage(roll(62, 29))], [21, 30, 1])
    const [first, last] = [placeOf(L7160, 0), placeOf(L7160, 20)]
    assert.deepEqual(first, { page: 0, x: 7.25, y: 15.15 })
    // The margins on the opposite sides of A4 are the same.
    near(last.x + 63.5 + 7.25, 210)
    near(last.y + 38.1 + 15.15, 297)
    const [begin, end] = [placeOf(A5160, 0), placeOf(A5160, 29)]
    near(begin.x, 4.7625)
    near(begin.y, 12.7)
    // Letter: 8.5 by 11 inches.
    near(end.x + 66.675 + 4.7625, 215.9)
    near(end.y + 25.4 + 12.7, 279.4)
    assert.deepEqual(placeOf(L7160, 21), { page: 1, x: 7.25, y: 15.15 })
    assert.deepEqual(placeOf(roll(62, 29), 5), { page: 5, x: 0, y: 0 })
  })

  test('with custom dimensions are refused with each wrong member', () => {
    const cases: readonly (readonly [Partial<Sheet>, (keyof Sheet)[]])[] = [
      [{}, []],
      [{ columns: 0 }, ['columns']],
      [{ columns: 2.5, rows: 51 }, ['columns', 'rows']],
      [{ width: Number.NaN, height: -1 }, ['width', 'height']],
      [{ labelWidth: 19, labelHeight: 11 }, ['labelWidth', 'labelHeight']],
      [{ left: -1, top: Number.POSITIVE_INFINITY }, ['left', 'top']],
      [{ padding: 10 }, ['padding']],
      [{ columns: 1, rows: 1, left: -2, padding: 2 }, []],
      [{ columns: 1, rows: 1, left: -2.1, padding: 2 }, ['left']],
      [{ columns: 1, rows: 2, left: -2, padding: 2 }, ['left']],
      [{ across: 60, down: 30 }, ['across', 'down']],
      [{ left: 15 }, ['width']],
      [{ top: 35 }, ['height']],
      [{ across: Number.NaN }, ['width']],
    ]
    for (const [change, members] of cases) {
      const found = faultsOf({ ...L7160, ...change })
      const seen = found.map(([member]) => member)
      assert.deepEqual(seen, members, JSON.stringify(change))
    }
    assert.deepEqual(faultsOf({ ...L7160, width: 200 }), [['width', 'must be at least 202.75, where the labels end']])
    for (const sheet of Object.values(SHEETS)) assert.deepEqual(faultsOf(sheet), [])
  })
})

const TEXTS: readonly LabelText[] = [
  { id: 7n, name: 'Rosa', tag: undefined },
  { id: -(2n ** 63n), name: 'Chlorophytum comosum ‘Vittatum’ (Thunb.) Jacques', tag: 'greenhouse 2, table 14 north' },
  { id: 0n, name: '', tag: '' },
  { id: 1n, name: 'x'.repeat(80), tag: 'y'.repeat(80) },
  { id: 2n, name: 'Ein sehr langer Name '.repeat(30), tag: 'z' },
]

/** Lays labels out that are printed together. */
function layOutAll(labels: readonly LabelText[], sheet: Sheet, codes: Codes = 'qr'): LabelLayout[] {
  const texts = labels.map((label) => linesOf(label, WORDING))
  const size = sizeFor(texts, { sheet, codes }, measure)
  return texts.map((lines) => layOut(lines, size, { sheet, codes }, measure))
}

const shownOn = (layout: LabelLayout | undefined): string[] => layout?.runs.map(({ text }) => text) ?? []
/** The texts of a style in lines. */
const textsIn = (lines: ReturnType<typeof linesOf>, wanted: string): string[] =>
  lines.flat().flatMap(({ style, text }) => (style === wanted ? [text] : []))
const byName = (name: string, tag?: string): LabelText => ({ id: 1n, name, tag })

suite('labels', () => {
  test('have their codes and their texts inside their edges and apart, whatever their dimensions', () => {
    const own = [20, 35, 60, 120, 200].flatMap((width) => [12, 25, 50, 200].map((height) => roll(width, height)))
    const formats = [...Object.values(SHEETS), ...own].flatMap((sheet) => CODES.map((codes) => ({ sheet, codes })))
    for (const { sheet, codes } of formats) {
      for (const [i, { qr, bars, text, size, runs }] of layOutAll(TEXTS, sheet, codes).entries()) {
        const where = `${sheet.labelWidth} x ${sheet.labelHeight}, ${codes}, text ${i}`
        const boxes = [text, qr, bars].filter((box) => box !== undefined)
        assert.equal(boxes.length, codes === 'both' ? 3 : 2)
        for (const [at, box] of boxes.entries()) {
          assert.ok(isWithin(box, sheet), where)
          for (const next of boxes.slice(at + 1)) {
            assert.ok(box.x + box.width < next.x || box.y + box.height < next.y, where)
          }
        }
        for (const { x, text: shown, style, y } of runs) {
          assert.ok(x >= text.x && x + measure(shown, size, style) <= text.x + text.width + 1e-6, `${where}: ${shown}`)
          assert.ok(y >= text.y && y <= text.y + text.height + 1e-6, where)
        }
      }
    }
  })

  test('have one size of type, the largest in which all of them fit, and their ids alone are bold', () => {
    for (const [name, sheet] of Object.entries(SHEETS)) {
      const layouts = layOutAll(TEXTS, sheet)
      assert.equal(new Set(layouts.map(({ size }) => size)).size, 1, name)
      for (const [i, { runs, size }] of layouts.entries()) {
        const bold = runs.filter(({ style }) => style === 'bold')
        assert.equal(bold.map(({ text }) => text).join(''), String(TEXTS[i]?.id), name)
        assert.ok(size >= 6 * POINT - 1e-9, `${name}: ${size} mm`)
      }
    }
    const sizeOf = (...names: string[]) =>
      layOutAll(
        names.map((each) => byName(each)),
        L7160,
      )[0]?.size ?? 0
    assert.ok(sizeOf('Rosa') > 15 * POINT)
    const long = 'Chlorophytum comosum ‘Vittatum’ (Thunb.) Jacques'
    assert.ok(sizeOf(long) < sizeOf('Rosa'))
    assert.equal(sizeOf('Rosa', long), sizeOf(long))
    assert.equal(sizeOf('Rosa', 'No size fits this '.repeat(50)), sizeOf('Rosa'), 'a hopeless name shrinks no other')
  })

  test('show whole ids, in two rows or smaller where they are wider than the label', () => {
    const id = -(2n ** 63n)
    for (const sheet of [roll(20, 12), roll(20, 40), roll(30, 15), L7160]) {
      const [layout] = layOutAll([{ id, name: 'x'.repeat(1000), tag: 'y'.repeat(200) }], sheet)
      const bold = layout?.runs.filter(({ style }) => style === 'bold') ?? []
      assert.equal(bold.map(({ text }) => text).join(''), String(id), `${sheet.labelWidth} x ${sheet.labelHeight}`)
    }
  })

  test('show a long text with an ellipsis if it does not fit, and the other lines all the same', () => {
    const shown = (name: string, tag?: string) => shownOn(layOutAll([byName(name, tag)], A5160)[0])
    assert.deepEqual(shown('Rosa'), ['Rosa', '1'])
    const cutOf = (name: string) => layOutAll([byName(name)], A5160)[0]?.isCut
    assert.deepEqual(['Rosa alba', 'Rosa '.repeat(100)].map(cutOf), [false, true], 'and say so')
    assert.equal(shown('Chlorophytum comosum ‘Vittatum’').slice(0, -1).join(' '), 'Chlorophytum comosum ‘Vittatum’')
    assert.deepEqual(shown('', 'fern'), ['fern', '1'])
    const long = shown('Ein sehr langer Name '.repeat(40), 'an even longer tag '.repeat(10))
    assert.match(long.at(-3) ?? '', /…$/)
    assert.match(long.at(-2) ?? '', /^an even longer .*…$/)
    assert.equal(long.at(-1), '1')
  })

  test('leave room for a name that is to come: the other lines stand at the bottom', () => {
    const [whole, blank] = layOutAll([byName('Rosa', 'bed'), byName('', 'bed')], L7160)
    const placesOf = (layout?: LabelLayout) => layout?.runs.map(({ text, y }) => `${text} ${y}`) ?? []
    assert.deepEqual(placesOf(blank), placesOf(whole).slice(1))
  })

  test('set genus and species in italics where the person wants that, and nothing else', () => {
    const italicsOf = (name: string, isItalic = true) =>
      textsIn(linesOf(byName(name), { ...WORDING, isItalic }), 'italic').join(' ')
    const cases = {
      "Salvia microphylla 'Osakazuki'": 'Salvia microphylla',
      'Rosa canina L.': 'Rosa canina',
      'Rosa canina var. corymbifera': 'Rosa canina corymbifera',
      'Rosa × damascena Mill.': 'Rosa damascena',
      '×Cuprocyparis leylandii': 'Cuprocyparis leylandii',
      'Rosa sp.': 'Rosa',
      'tomato, red': '',
      'Arctostaphylos uva-ursi': 'Arctostaphylos uva-ursi',
      中国水仙: '',
      'وردة دمشقية': '',
      '': '',
    }
    for (const [name, expected] of Object.entries(cases)) {
      assert.equal(italicsOf(name), expected, name)
      const [line = []] = linesOf(byName(name), { ...WORDING, isItalic: true })
      assert.equal(line.map(({ text }) => text).join(''), name)
      assert.equal(italicsOf(name, false), '')
    }
  })

  test('fill in the fields of their lines, wherever these stand, and keep all other texts', () => {
    const wording = { ...WORDING, lines: ['No. {id} · {date}', 'Bed: {tag} {x', '{name}{name} {}'] }
    const texts = linesOf({ id: -5n, name: 'Rosa\n{id} ', tag: undefined }, wording)
    const seen = texts.map((line) => line.map(({ text }) => text).join(''))
    assert.deepEqual(seen, ['No. -5 · 27 Nov 2026', 'Bed:  {x', 'Rosa {id}Rosa {id} {}'])
    assert.deepEqual(textsIn(texts, 'bold'), ['-5'])
    assert.deepEqual(wording.lines.map(unknownFields), [[], [], ['']])
    assert.deepEqual(unknownFields('{ID} {name} {colour}'), ['ID', 'colour'])
  })

  test('cut the long texts of a line and keep its id', () => {
    const wording = { ...WORDING, lines: ['{name} ({tag}) No. {id}', '', ''] }
    const text = linesOf({ id: -(2n ** 63n), name: 'long name '.repeat(99), tag: 'tag '.repeat(50) }, wording)
    const format = { sheet: roll(40, 20), codes: 'qr' } as const
    const shown = shownOn(layOut(text, sizeFor([text], format, measure), format, measure)).join(' ')
    assert.match(shown, /…/)
    assert.equal(shown.replaceAll(/[^-\d]/g, ''), String(-(2n ** 63n)))
  })

  test('are laid out fast, a page of 1,000 with the longest names', () => {
    const name = '🌱 x'.repeat(250)
    const texts = Array.from({ length: 1000 }, () => linesOf(byName(name, 'y'.repeat(200)), WORDING))
    const begin = process.cpuUsage()
    const format = { sheet: L7160, codes: 'qr' } as const
    const size = sizeFor(texts, format, measure)
    for (const lines of texts.slice(0, 21)) layOut(lines, size, format, measure)
    const { user } = process.cpuUsage(begin)
    assert.ok(user < 2e6, `${user} µs`)
  })
})

suite('texts on labels', () => {
  const widthOf = (text: string) => [...text].length
  const broken = (text: string, width: number, most?: number): [string[], boolean] => {
    const { rows, isBroken } = wrap(text, width, widthOf, most)
    for (const row of rows) assert.ok(text.startsWith(row.text, row.begin), text)
    return [rows.map((row) => row.text), isBroken]
  }
  test('break after spaces and hyphens, between words of scripts without spaces, and within long words', () => {
    assert.deepEqual(broken('aaa bbb ccc', 7), [['aaa bbb', 'ccc'], false])
    assert.deepEqual(broken('aaa-bbb (ccc)', 5), [['aaa-', 'bbb', '(ccc)'], false])
    assert.deepEqual(broken('Käsekuchen', 4), [['Käse', 'kuch', 'en'], true])
    assert.deepEqual(broken('No. -922337 (-5)', 9), [['No.', '-922337', '(-5)'], false])
    const [rows, isBroken] = broken('中国水仙和一种兰花', 4)
    assert.deepEqual([rows.join(''), isBroken], ['中国水仙和一种兰花', false])
    assert.deepEqual(broken('', 4), [[], false])
    assert.equal(broken('a '.repeat(1000), 4, 3)[0].length, 4, 'the work ends with the room')
  })

  test('are never cut within a letter of several characters', () => {
    const within = (width: number) => (text: string) => widthOf(text) <= width
    assert.equal(cut('👩‍🌾👩‍🌾👩‍🌾', within(8)), '👩‍🌾👩‍🌾…')
    assert.equal(cut('é'.normalize('NFD').repeat(4), within(5)), `${'é'.normalize('NFD').repeat(2)}…`)
    assert.equal(cut('abc', within(3)), 'abc')
    assert.equal(cut('abc', within(0)), '…')
  })

  test('are cut before the name of a cultivar, which tells plants apart, where that has room', () => {
    const within = (width: number) => (text: string) => widthOf(text) <= width
    assert.match(cut('Acer palmatum var. dissectum ‘Garnet’', within(24)), /^Acer palmatum.*… ‘Garnet’$/)
    assert.match(cut("Rosa rugosa × wichurana 'Max Graf'", within(20)), /^Rosa.*… 'Max Graf'$/)
    assert.equal(cut('Rosa ‘Souvenir de la Malmaison’', within(10)), 'Rosa ‘Sou…')
  })

  test('contain no line breaks or control characters, and have the direction of their first letter', () => {
    assert.equal(onOneLine(' a\n\tb\u2028c\u0007 \ud800'), 'a b c \ufffd')
    const cases = { 'Rosa שושנה': 'ltr', '12 שושנה Rosa': 'rtl', وردة: 'rtl', 中国: 'ltr', '12': 'ltr', '': 'ltr' }
    for (const [text, direction] of Object.entries(cases)) assert.equal(directionOf(text), direction, text)
  })
})

function isWithin({ x, y, width, height }: Box, { labelWidth, labelHeight, padding }: Sheet): boolean {
  const isLarge = width > 0 && height > 0
  const ends = x + width <= labelWidth - padding + 1e-9 && y + height <= labelHeight - padding + 1e-9
  return isLarge && x >= padding && y >= padding && ends
}

test('a code restores 15% of itself or more, however long its address is', async () => {
  const module = 4
  for (let length = 10; length <= 120; length += 5) {
    const text = `https://${'a'.repeat(length)}.example/#7`
    const { size, runs } = qrCodeOf(text)
    const side = (size + 2 * QUIET) * module
    const picture = Buffer.alloc(side * side, 255)
    for (const { x, y, length: dark } of runs) {
      for (let row = (QUIET + y) * module; row < (QUIET + y + 1) * module; row++) {
        const from = row * side + (QUIET + x) * module
        picture.fill(0, from, from + dark * module)
      }
    }
    const [found] = await codesIn(Buffer.concat([Buffer.from(`P5\n${side} ${side}\n255\n`), picture]))
    assert.equal(found?.text, text)
    assert.match(found?.ecLevel ?? '', /^[MQH]$/, `${length} characters`)
  }
})

test('bars hold every id: pairs of digits as one symbol, and a checksum', async () => {
  const ids = [0n, 7n, 10n, 99n, 123n, 2026n, -1n, -42n, -123n, 2n ** 63n - 1n, -(2n ** 63n)]
  const shapes = Array.from({ length: 103 }, (_, i) => BigInt(i) * 89_107n)
  for (const id of [...ids, ...shapes]) {
    const { length, runs } = code128Of(id)
    const [module, height] = [3, 40]
    const width = (length + 2 * BAR_QUIET) * module
    const row = Buffer.alloc(width, 255)
    for (const { x, length: dark } of runs) row.fill(0, (BAR_QUIET + x) * module, (BAR_QUIET + x + dark) * module)
    const picture = Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), ...Array(height).fill(row)])
    const [found] = await codesIn(picture)
    assert.deepEqual([found?.text, found?.format], [String(id), 'Code128'])
  }
  assert.equal(code128Of(12345678n).length, 11 * 6 + 13, 'a start, four pairs, a checksum and an end')
})
