import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { kindOfFormat, textOfCell } from '../../src/import/workbook/cells.ts'

test('a date of a workbook counts its days from 1900, or from 1904 where the workbook says so', () => {
  const dateIn = (isFrom1904: boolean, days: string) =>
    textOfCell('', '0', days, { texts: [], styles: ['date'], isFrom1904 })
  const found = ['1', '45000', '45000.5'].map((days) => dateIn(false, days))
  assert.deepEqual(found, ['1900-01-01', '2023-03-15', '2023-03-15 12:00'])
  const seen = ['1', '43538', '43538.5'].map((days) => dateIn(true, days))
  assert.deepEqual(seen, ['1904-01-02', '2023-03-15', '2023-03-15 12:00'])
})

const VALUES = ['7', '42', '1234567', '0.5', '-3', '0', '12345678901']

const shown = (code: string, value: string): string =>
  textOfCell('', '0', value, { texts: [], styles: [kindOfFormat(200, code)], isFrom1904: false }) ?? ''

suite('a number of a workbook is read', () => {
  /** What LibreOffice 7.4 saves as CSV of a workbook of openpyxl 3.1 with these formats, for each of VALUES. */
  const AS_SHOWN: Readonly<Record<string, readonly string[]>> = {
    '00000': ['00007', '00042', '1234567', '00001', '-00003', '00000', '12345678901'],
    '"Bed "000': ['Bed 007', 'Bed 042', 'Bed 1234567', 'Bed 001', '-Bed 003', 'Bed 000', 'Bed 12345678901'],
    '\\A000': ['A007', 'A042', 'A1234567', 'A001', '-A003', 'A000', 'A12345678901'],
    '0000-0000': ['0000-0007', '0000-0042', '0123-4567', '0000-0001', '-0000-0003', '0000-0000', '1234567-8901'],
    '(000) 000': ['(000) 007', '(000) 042', '(1234) 567', '(000) 001', '-(000) 003', '(000) 000', '(12345678) 901'],
    '0"a"': ['7a', '42a', '1234567a', '1a', '-3a', '0a', '12345678901a'],
    '+0;-0;0': ['+7', '+42', '+1234567', '+1', '-3', '0', '+12345678901'],
    '0.0': ['7.0', '42.0', '1234567.0', '0.5', '-3.0', '0.0', '12345678901.0'],
    '000.000': ['007.000', '042.000', '1234567.000', '000.500', '-003.000', '000.000', '12345678901.000'],
    '0.00%': ['700.00%', '4200.00%', '123456700.00%', '50.00%', '-300.00%', '0.00%', '1234567890100.00%'],
    ';;;': ['', '', '', '', '', '', ''],
    '@': VALUES,
    General: VALUES,
  }
  for (const [code, texts] of Object.entries(AS_SHOWN)) {
    test(`as its format ${code} shows it`, () =>
      assert.deepEqual(
        VALUES.map((value) => shown(code, value)),
        texts,
      ))
  }

  test('with its number after a text, in hours, and without what keeps or fills its width', () => {
    assert.deepEqual([shown('"No. "#', '7'), shown('"Bed "General', '42')], ['No. 7', 'Bed 42'])
    assert.deepEqual(
      [shown('[h]:mm', '1.25'), shown('[h]:mm:ss', '-3'), shown('[h]:mm', '0')],
      ['30:00', '-72:00:00', '0:00'],
    )
    assert.deepEqual([shown('000_)', '7'), shown('000*-', '7'), shown('0;-0;;@', '0')], ['007', '007', ''])
  })

  test('by the first part whose condition it meets', () => {
    const beds = '[<10]"Bed "0;[Red][=42]"House "0;"Field "0000'
    const found = VALUES.map((value) => shown(beds, value))
    assert.deepEqual(found, ['Bed 7', 'House 42', 'Field 1234567', 'Bed 1', '-Bed 3', 'Bed 0', 'Field 12345678901'])
    const bounds = (code: string) => ['9', '10', '11'].map((value) => shown(code, value))
    assert.deepEqual(bounds('[<=10]000;0000'), ['009', '010', '0011'])
    assert.deepEqual(bounds('[>=10]000;0000'), ['0009', '010', '011'])
    assert.deepEqual(bounds('[<>10]000;0000'), ['009', '0010', '011'])
    assert.deepEqual(bounds('[>10.5]000'), ['9', '10', '011'])
  })

  test('with all of its digits, where it may be an id and its format groups, rounds or names them', () => {
    const formats = [
      '#,##0',
      '# ##0',
      '0.00E+00',
      '# ?/?',
      '"$"#,##0.00',
      '_($* #,##0.00_)',
      '0,',
      '[>100]"many";"few"',
    ]
    for (const code of formats)
      assert.deepEqual(
        VALUES.map((value) => shown(code, value)),
        VALUES,
        code,
      )
  })

  test('as a day of ISO 8601, in whatever form it shows one', () => {
    for (const code of ['[$-409]d-mmm-yy', 'dd/mm/yyyy', '[$-407]d. mmmm yyyy', 'mmm-yy'])
      assert.equal(shown(code, '45000'), '2023-03-15', code)
  })
})
