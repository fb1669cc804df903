import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { linesIn, openedAs, zip } from '../support/workbook.ts'

/** An OpenDocument spreadsheet with a hidden sheet before that of these rows. */
function document(rows: string): Buffer {
  const hidden = '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
  const secret =
    '<table:table table:style-name="h"><table:table-row><table:table-cell><text:p>no</text:p></table:table-cell></table:table-row></table:table>'
  const body = `<office:body><office:spreadsheet>${secret}<table:table table:name="Plants">${rows}</table:table></office:spreadsheet></office:body>`
  const content = `<office:document-content><office:automatic-styles>${hidden}</office:automatic-styles>${body}</office:document-content>`
  return zip([{ name: 'content.xml', content }])
}

const MIB = 2 ** 20

suite('the page reads a workbook of OpenDocument', () => {
  test('with what its cells show', async () => {
    const cells: readonly (readonly [xml: string, expected: string])[] = [
      ['office:value-type="float" office:value="7"><text:p>007</text:p>', '007'],
      ['office:value-type="float" office:value="20260017"><text:p>2026-0017</text:p>', '2026-0017'],
      ['office:value-type="float" office:value="1001"><text:p>1,001</text:p>', '1001'],
      ['office:value-type="float" office:value="2.25"><text:p>2.3</text:p>', '2.3'],
      ['office:value-type="float" office:value="-7"><text:p>(7)</text:p>', '-7'],
      ['office:value-type="percentage" office:value="0.07"><text:p>7%</text:p>', '7%'],
      ['office:value-type="date" office:date-value="2026-03-01"><text:p>01.03.26</text:p>', '2026-03-01'],
      ['office:value-type="date" office:date-value="2026-03-01T09:30:00"><text:p>1.3.</text:p>', '2026-03-01 09:30'],
      ['office:value-type="time" office:time-value="PT09H30M00S"><text:p>9:30</text:p>', '09:30'],
      ['office:value-type="boolean" office:boolean-value="true"><text:p>WAHR</text:p>', 'TRUE'],
      ['office:value-type="string" calcext:value-type="error"><text:p>#REF!</text:p>', '#REF!'],
      ['><office:annotation><text:p>no</text:p></office:annotation><text:p>a<text:s text:c="2"/>b</text:p>', 'a  b'],
      ['><text:p>a<text:tab/><text:span>b</text:span></text:p>', 'a\tb'],
      ['table:formula="of:=1+1"></table:table-cell><table:table-cell>', '\ufdd0A14'],
    ]
    const row = (xml: string) => `<table:table-row><table:table-cell ${xml}</table:table-cell></table:table-row>`
    const text = (texts: string) => `><text:p>${texts}</text:p>`
    const merged = [`table:number-rows-spanned="2"${text('Bed 1')}</table:table-cell><table:table-cell${text('Abies')}`]
    const covered = `<table:table-row><table:covered-table-cell/><table:table-cell${text('Acer')}</table:table-cell></table:table-row>`
    const rows = `${cells.map(([xml]) => row(xml)).join('')}${merged.map(row).join('')}${covered}`
    const blanks = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
    assert.deepEqual(await linesIn(document(`${rows}${blanks}`)), [
      ...cells.map(([, expected]) => expected),
      'Bed 1,Abies',
      'Bed 1,Acer',
    ])
    const two = '<table:table-row table:number-rows-repeated="2"><table:table-cell/><table:table-cell'
    const repeated = `${two} table:number-columns-repeated="2"${text('x')}</table:table-cell></table:table-row>`
    assert.deepEqual(await linesIn(document(repeated)), [',x,x', ',x,x'])
  })

  test('but none that repeats cells or rows without end, or is encrypted', async () => {
    const cell = (repeated: string) => `<table:table-cell ${repeated}><text:p>x</text:p></table:table-cell>`
    const wide = cell('table:number-columns-repeated="16384"')
    for (const [row, fault] of [
      [`<table:table-row table:number-rows-repeated="1048576">${wide}</table:table-row>`, 'large'],
      [`<table:table-row>${wide}</table:table-row>`.repeat(1000), 'large'],
      [`<table:table-row>${cell('table:number-columns-repeated="16385"')}</table:table-row>`, 'unreadable'],
      [`<table:table-row table:number-rows-repeated="1048577">${cell('')}</table:table-row>`, 'unreadable'],
      [`<table:table-row>${cell('').replace('>x<', '><text:s text:c="999999999"/><')}</table:table-row>`, 'large'],
    ] as const) {
      const before = process.memoryUsage.rss()
      assert.equal(await openedAs(document(row)), fault, row.slice(0, 120))
      assert.ok(process.memoryUsage.rss() - before < 500 * MIB)
    }
    const manifest = '<manifest:manifest><manifest:encryption-data/></manifest:manifest>'
    const locked = [
      { name: 'content.xml', content: '\u0001' },
      { name: 'META-INF/manifest.xml', content: manifest },
    ]
    assert.equal(await openedAs(zip(locked)), 'locked')
  })
})
