import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { QUIET, qrCodeOf } from '../../web/src/labels/code.ts'
import { type Box, type LabelText, layOut } from '../../web/src/labels/layout.ts'
import { A5160, faultsOf, L7160, labelsPerPage, placeOf, roll, type Sheet } from '../../web/src/labels/sheets.ts'
import { cut, directionOf, onOneLine, wrap } from '../../web/src/labels/text.ts'
import { measure } from '../support/labels.ts'
import { codesIn } from '../support/pdf-pages.ts'

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
      [{ across: 60, down: 30 }, ['across', 'down']],
      [{ left: 15 }, ['width']],
      [{ top: 35 }, ['height']],
      [{ across: Number.NaN }, ['width']],
    ]
    for (const [change, members] of cases) {
      const found = faultsOf({ ...L7160, ...change })
      assert.deepEqual(
        found.map(([member]) => member),
        members,
        JSON.stringify(change),
      )
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

suite('a label', () => {
  test('has its code and its texts inside its edges and apart, whatever its dimensions', () => {
    const own = [20, 35, 60, 120, 200].flatMap((width) => [12, 25, 50, 200].map((height) => roll(width, height)))
    for (const sheet of [...Object.values(SHEETS), ...own]) {
      for (const label of TEXTS) {
        const { code, text, lines } = layOut(label, sheet, measure)
        const where = `${sheet.labelWidth} x ${sheet.labelHeight}, ${label.name.slice(0, 20)}`
        for (const box of [code, text]) assert.ok(isWithin(box, sheet), where)
        assert.ok(text.x + text.width < code.x || text.y + text.height < code.y, where)
        for (const { x, text: shown, size, weight, y } of lines) {
          assert.ok(x >= text.x && x + measure(shown, size, weight) <= text.x + text.width + 1e-6, `${where}: ${shown}`)
          assert.ok(y <= text.y + text.height + 1e-6, where)
        }
      }
    }
  })

  test('shows the whole id, and the name in the largest readable size that fits', () => {
    for (const [name, sheet] of Object.entries(SHEETS)) {
      for (const label of TEXTS) {
        const { lines } = layOut(label, sheet, measure)
        const bold = lines.filter(({ weight }) => weight === 700)
        for (const { size } of bold) assert.ok(size >= 7 * (25.4 / 72), `${name}: ${size} mm`)
        assert.equal(lines.at(-1)?.text, String(label.id), name)
      }
    }
    const sizeOf = (text: LabelText) => layOut(text, L7160, measure).lines[0]?.size ?? 0
    assert.ok(sizeOf({ id: 1n, name: 'Rosa', tag: undefined }) > 15 * (25.4 / 72))
    assert.ok(sizeOf({ id: 1n, name: 'Rosa', tag: undefined }) > sizeOf(TEXTS[1] ?? assert.fail()))
  })

  test('shows a long name with an ellipsis if it does not fit', () => {
    const shown = (name: string, tag?: string) =>
      layOut({ id: 1n, name, tag }, A5160, measure).lines.map(({ text }) => text)
    assert.deepEqual(shown('Rosa'), ['Rosa', '1'])
    assert.equal(shown('Chlorophytum comosum ‘Vittatum’').slice(0, -1).join(' '), 'Chlorophytum comosum ‘Vittatum’')
    assert.deepEqual(shown('', 'fern'), ['fern', '1'])
    const long = shown('Ein sehr langer Name '.repeat(60), 'an even longer tag '.repeat(10))
    assert.match(long.at(-3) ?? '', /…$/)
    assert.match(long.at(-2) ?? '', /^an even longer .*…$/)
  })

  test('is laid out fast even if its name has a million characters', () => {
    const name = '🌱 x'.repeat(2 ** 18)
    const begin = process.cpuUsage()
    layOut({ id: 1n, name, tag: name }, L7160, measure)
    const { user } = process.cpuUsage(begin)
    assert.ok(user < 2e6, `${user} µs`)
  })
})

suite('texts on labels', () => {
  const widthOf = (text: string) => [...text].length
  test('break after spaces and hyphens, between words of scripts without spaces, and within long words', () => {
    assert.deepEqual(wrap('aaa bbb ccc', 7, widthOf), { lines: ['aaa bbb', 'ccc'], isBroken: false })
    assert.deepEqual(wrap('aaa-bbb (ccc)', 5, widthOf), { lines: ['aaa-', 'bbb', '(ccc)'], isBroken: false })
    assert.deepEqual(wrap('Käsekuchen', 4, widthOf), { lines: ['Käse', 'kuch', 'en'], isBroken: true })
    const { lines, isBroken } = wrap('中国水仙和一种兰花', 4, widthOf)
    assert.deepEqual([lines.join(''), isBroken], ['中国水仙和一种兰花', false])
    assert.deepEqual(wrap('', 4, widthOf), { lines: [], isBroken: false })
  })

  test('are never cut within a letter of several characters', () => {
    assert.equal(cut('👩‍🌾👩‍🌾👩‍🌾', 8, widthOf), '👩‍🌾👩‍🌾…')
    assert.equal(cut('é'.normalize('NFD').repeat(4), 5, widthOf), `${'é'.normalize('NFD').repeat(2)}…`)
    assert.equal(cut('abc', 3, widthOf), 'abc')
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
