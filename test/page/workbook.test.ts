import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { sheetsIn } from '../../src/import/workbook/workbook.ts'
import {
  linesIn as lines,
  openedAs as opened,
  partsOf,
  rowsOf,
  sheetsOf as sheets,
  workbook,
  zip,
} from '../support/workbook.ts'

const fixture = (name: string): Buffer => readFileSync(new URL(`../import/fixtures/${name}`, import.meta.url))

const MIB = 2 ** 20
const NAMED = { Plants: rowsOf([['name'], ['Abies']]) }

/** The parts of a workbook, each changed as a text. */
const changed = (change: (content: string) => string | Buffer, ...of: Parameters<typeof partsOf>) =>
  partsOf(...of).map((part) => ({ ...part, content: change(String(part.content)) }))

/** Reads a workbook, and fails if that takes more processor time. */
async function linesWithin(seconds: number, bytes: Buffer): Promise<readonly string[]> {
  const before = process.cpuUsage()
  const found = await lines(bytes)
  assert.ok(process.cpuUsage(before).user < seconds * 1e6)
  return found
}

suite('the page reads a workbook', () => {
  test('with integers in plain digits, also where a Java program wrote them as doubles', async () => {
    const expected = ['Id,Name,Tag', '1,Abies,2.5', '12345678,Betula,3', '9.007199254740993E15,Carex,x', '-7,Dryas']
    assert.deepEqual(await lines(fixture('apache-poi.xlsx')), expected)
  })

  test('whose parts have more than 512 KiB', async () => {
    const rows = Array.from({ length: 30_000 }, (_, i) => [`Rosa ${i}`, ...Array.from({ length: 9 }, () => `bed ${i}`)])
    const found = await lines(workbook({ Plants: rowsOf(rows) }))
    assert.equal(found.length, rows.length)
    assert.equal(found.at(-1), rows.at(-1)?.join(','))
  })

  test('whose cells and rows have no places, as ECMA-376 allows', async () => {
    const row = (...texts: string[]) => `<row>${texts.map((text) => `<c t="str"><v>${text}</v></c>`).join('')}</row>`
    const placed = '<row r="5"><c t="str" r="B5"><v>Carex</v></c><c t="str"><v>c</v></c></row>'
    const xml = `<sheetData>${row('name', 'tag')}${row('Abies', 'a')}${placed}${row('Dryas')}</sheetData>`
    assert.deepEqual(await lines(workbook({ Plants: xml })), ['name,tag', 'Abies,a', '', '', ',Carex,c', 'Dryas'])
  })

  test('with numbers, dates, times and formulas as its program shows them', async () => {
    const styles =
      '<numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy"/><numFmt numFmtId="165" formatCode="0 &quot;days&quot;"/>' +
      '<numFmt numFmtId="166" formatCode="[h]:mm"/><numFmt numFmtId="167" formatCode="00000"/>' +
      '<numFmt numFmtId="168" formatCode="&quot;Bed &quot;000"/><numFmt numFmtId="169" formatCode="0000\\-0000"/>' +
      '<numFmt numFmtId="170" formatCode="0.0%"/>' +
      '<numFmt numFmtId="171" formatCode="[Red]0000;[Blue]\\-0000"/><numFmt numFmtId="172" formatCode="[&gt;100]&quot;many&quot;;0"/>' +
      '<numFmt numFmtId="173" formatCode="# ?/?"/><numFmt numFmtId="174" formatCode="0.00"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
      `<cellXfs>${[0, 14, 164, 165, 166, 20, 22, 167, 168, 169, 170, 9, 171, 172, 173, 174, 3].map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs>`
    const cells: readonly (readonly [xml: string, expected: string])[] = [
      ['s="0"><v>45000</v>', '45000'],
      ['s="1"><v>45000</v>', '2023-03-15'],
      ['s="2"><v>45000</v>', '2023-03-15'],
      ['s="3"><v>45000</v>', '45000 days'],
      ['s="4"><v>1.5</v>', '36:00'],
      ['s="5"><v>0.4375</v>', '10:30'],
      ['s="6"><v>45000.4375</v>', '2023-03-15 10:30'],
      ['s="1"><v>1</v>', '1900-01-01'],
      ['s="7"><v>42</v>', '00042'],
      ['s="7"><v>1234567</v>', '1234567'],
      ['s="7"><v>2.5</v>', '00003'],
      ['s="7" t="str"><v>A7</v>', 'A7'],
      ['s="8"><v>7</v>', 'Bed 007'],
      ['s="9"><v>20260017</v>', '2026-0017'],
      ['s="10"><v>0.285</v>', '28.5%'],
      ['s="11"><v>0.07</v>', '7%'],
      ['s="12"><v>7</v>', '0007'],
      ['s="12"><v>-7</v>', '-0007'],
      // Neither a condition, a fraction nor separators of thousands: the number is the id or code of a plant.
      ['s="13"><v>7</v>', '7'],
      ['s="14"><v>2.5</v>', '2.5'],
      ['s="15"><v>2.5</v>', '2.50'],
      ['s="16"><v>12345</v>', '12345'],
      ['><v>2.2999999999999998</v>', '2.3'],
      ['><v>9223372036854775807</v>', '9223372036854775807'],
      ['><f>1+1</f><v>2</v>', '2'],
      ['t="str"><f>A1&amp;"x"</f><v>Abies &amp; co</v>', 'Abies & co'],
      ['t="b"><v>1</v>', 'TRUE'],
      ['t="s"><v>1</v>', 'Rosa rugosa'],
      ['t="inlineStr"><is><r><t>Ab</t></r><r><t>ies</t></r></is>', 'Abies'],
      ['t="str"><v>a_x000D_b</v>', '"a\rb"'],
      ['t="str"><v><![CDATA[<i>]]>&#x1F331;</v>', '<i>🌱'],
      ['/>', ''],
    ].map(([xml = '', expected = '']) => [`<row><c ${xml}${xml === '/>' ? '' : '</c>'}</row>`, expected] as const)
    const texts = '<si><t>no</t></si><si><r><t>Rosa </t></r><r><t>rugosa</t></r><rPh><t>phonetic</t></rPh></si>'
    const xml = `<sheetData>${cells.map(([cell]) => cell).join('')}<row><c t="str"><v>end</v></c></row></sheetData>`
    assert.deepEqual(await lines(workbook({ Plants: xml }, { texts, styles })), [
      ...cells.map(([, expected]) => expected),
      'end',
    ])
  })

  test('with days from 1904, also with the second workbookPr of Excel 2013', async () => {
    const styles = '<cellXfs><xf numFmtId="14"/></cellXfs>'
    const xml = '<sheetData><row><c s="0"><v>44620</v></c></row></sheetData>'
    for (const second of ['', '<extLst><ext><x15:workbookPr chartTrackingRefBase="1"/></ext></extLst>']) {
      const from1904 = (content: string) =>
        content.replace(/<sheets>.*<\/sheets>/, `<workbookPr date1904="1"/>$&${second}`)
      assert.deepEqual(await lines(zip(changed(from1904, { Plants: xml }, { styles }))), ['2026-03-01'])
    }
  })

  test('with the cell of a formula without a stored value, and an empty text for one that says so', async () => {
    const cell = (xml: string) => `<c ${xml}</c>`
    const cells = ['><f>1+1</f>', '><f>1</f><v/>', 't="str"><f>A1</f><v></v>', 't="str"><f>A1</f>', '><f>1</f><v>2</v>']
    const xml = `<sheetData><row r="3">${cells.map(cell).join('')}</row></sheetData>`
    assert.deepEqual((await lines(workbook({ Plants: xml }))).at(-1), '\ufdd0A3,\ufdd0B3,,\ufdd0D3,2')
  })

  test('without elements of other namespaces', async () => {
    const parts = changed((content) => content.replace('<t>Abies', '<x:t>no</x:t>$&'), NAMED)
    assert.deepEqual(await lines(zip(parts)), ['name', 'Abies'])
  })

  test('cut anywhere into pieces', async () => {
    // The pieces that arrive end within tags, entities and letters of several bytes.
    const name = 'Ähre & <Höhe> "x" 🌱 '.repeat(3)
    const rows = Array.from({ length: 3000 }, (_, i) => [`${'x'.repeat(i % 97)}${name}`, `bed ${i}`])
    const found = await lines(workbook({ Plants: rowsOf(rows) }))
    const quoted = name.replaceAll('"', '""')
    const expected = rows.map((_, i) => `"${'x'.repeat(i % 97)}${quoted}",bed ${i}`)
    assert.deepEqual(found, expected)
  })

  test('with sizes in the fields of ZIP64, other cases and separators in names of parts, and prefixes of elements', async () => {
    const prefixed = changed((content) => content.replaceAll(/<(\/?)(?=\w)/g, '<$1x:'), NAMED)
    const parts = prefixed.map((part) => ({ ...part, name: part.name.toUpperCase().replaceAll('/', '\\') }))
    assert.deepEqual(await lines(zip(parts, true)), ['name', 'Abies'])
  })

  test('without hidden sheets, and counts the rows with several texts', async () => {
    const parts = changed((content) => content.replace('name="Secret"', '$& state="hidden"'), {
      'Read me': rowsOf([['These are our plants'], ['Do not edit']]),
      Plants: rowsOf([['Name', 'Bed'], ['Abies', '1'], ['Betula'], ['Acer', '2']]),
      Secret: rowsOf([['x', 'y']]),
    })
    const shown = (await sheets(zip(parts))).map(({ name, tableRows }) => `${name}: ${tableRows}`)
    assert.deepEqual(shown, ['Read me: 0', 'Plants: 3'])
  })
})

suite('the page fills merged cells of a workbook', () => {
  const merged = (rows: readonly string[], ...ranges: readonly string[]) => {
    const cells = rows.map((row) => row.split(',').map((text) => (text === '' ? undefined : text)))
    const merges = ranges.map((ref) => `<mergeCell ref="${ref}"/>`).join('')
    return workbook({ Plants: `${rowsOf(cells)}<mergeCells>${merges}</mergeCells>` })
  }

  test('downwards, and not to the right', async () => {
    const names = ['Plants of 2026', 'Bed,Place,Name']
    const rows = [...names, 'bed 1,left,Abies', ',,Betula', ',,Carex', 'bed 2,,Dryas']
    const bytes = merged(rows, 'A1:C1', 'A3:A5', 'A6:B6')
    const filled = [...names, 'bed 1,left,Abies', 'bed 1,,Betula', 'bed 1,,Carex', 'bed 2,,Dryas']
    assert.deepEqual(await lines(bytes), filled)
    assert.equal((await sheets(bytes))[0]?.filled, 2)
  })

  test('of several rows and columns only in the first column', async () => {
    const bytes = merged(['Bed,x,Name', 'bed 1,,Abies', ',,Betula'], 'A2:B3')
    assert.deepEqual(await lines(bytes), ['Bed,x,Name', 'bed 1,,Abies', 'bed 1,,Betula'])
  })

  test('but adds no row', async () => {
    const bytes = merged(['Bed,Name', 'bed 1,Abies'], 'A2:A1048576')
    assert.deepEqual(await lines(bytes), ['Bed,Name', 'bed 1,Abies'])
  })
})

suite('the page refuses a workbook', () => {
  const blanks = (size: number) => `<sheetData/>${' '.repeat(size)}`

  test('that unpacks to gigabytes, by its directory', async () => {
    const bytes = workbook({ Plants: blanks(MIB) }, { said: 2 ** 30 })
    const before = process.memoryUsage.rss()
    assert.equal(await opened(bytes), 'large')
    assert.ok(process.memoryUsage.rss() - before < 200 * MIB)
  })

  test('whose parts for all sheets unpack to too much, or are not UTF-8', async () => {
    const large = changed((content) => content.replace('<workbook ', `${' '.repeat(129 * MIB)}$&`), NAMED)
    assert.equal(await opened(zip(large)), 'large')
    const latin = changed((content) => Buffer.from(content.replace('Abies', 'Abiés'), 'latin1'), NAMED)
    assert.equal(await opened(zip(latin)), 'unreadable')
  })

  test('that unpacks to more than its directory says', async () => {
    const bytes = workbook({ Plants: blanks(64 * MIB) }, { said: 1000 })
    assert.ok(bytes.length < MIB / 8)
    assert.equal(await opened(bytes), 'unreadable')
  })

  test('that unpacks to too much in all its sheets, though each is small', async () => {
    const names = Array.from({ length: 9 }, (_, i) => `Sheet ${i}`)
    const bytes = workbook(Object.fromEntries(names.map((name) => [name, blanks(16 * MIB)])))
    assert.equal(await opened(bytes), 'large')
  })

  test('whose cells repeat a long text, lie far apart or are merged without end', async () => {
    const long = `<si><t>${'x'.repeat(MIB)}</t></si>`
    const repeated = `<sheetData>${'<row><c t="s"><v>0</v></c></row>'.repeat(200)}</sheetData>`
    assert.equal(await opened(workbook({ Plants: repeated }, { texts: long })), 'large')
    const far = '<row><c r="XFD1"><v>1</v></c></row>'.repeat(5000)
    const before = process.memoryUsage.rss()
    assert.equal(await opened(workbook({ Plants: `<sheetData>${far}</sheetData>` })), 'large')
    assert.ok(process.memoryUsage.rss() - before < 500 * MIB)
    const merges = '<mergeCell ref="A1:A1048576"/>'.repeat(200)
    const rows = `<sheetData><row><c><v>1</v></c></row></sheetData><mergeCells>${merges}</mergeCells>`
    assert.equal(await opened(workbook({ Plants: rows })), 'large')
  })

  test('but reads one of 17 kB with 16 MiB of blanks', async () => {
    const bytes = workbook({ Plants: `${NAMED.Plants}${' '.repeat(16 * MIB)}` })
    assert.ok(bytes.length < 20_000)
    assert.deepEqual(await lines(bytes), ['name', 'Abies'])
  })

  test('but reads one with many sheets and relations that lead nowhere in the time of their number', async () => {
    const parts = changed(
      (content) =>
        content
          .replace('</sheets>', `${'<sheet r:id="none"/>'.repeat(40_000)}$&`)
          .replace('</Relationships>', `${'<Relationship Id="x" Target="y"/>'.repeat(40_000)}$&`),
      NAMED,
    )
    // A search of all relations for each sheet took 20 s.
    assert.deepEqual(await linesWithin(8, zip(parts)), ['name', 'Abies'])
  })

  test('but reads one whose cells share a long text with escapes', async () => {
    const texts = `<si><t>${'_x0041_'.repeat(MIB)}</t></si>`
    const row = '<row><c t="s"><v>0</v></c></row>'
    // Reading the escapes again for each cell took 30 s.
    const read = await linesWithin(12, workbook({ Plants: `<sheetData>${row.repeat(40)}</sheetData>` }, { texts }))
    assert.deepEqual([read.length, read[39]?.length, read[39]?.slice(0, 2)], [40, MIB, 'AA'])
  })

  test('but reads one whose many styles share a long format', async () => {
    const styles = `<numFmts><numFmt numFmtId="200" formatCode="${'0'.repeat(100_000)}"/></numFmts>
      <cellXfs>${'<xf numFmtId="200"/>'.repeat(40_000)}</cellXfs>`
    const cell = '<sheetData><row><c s="1"><v>7</v></c></row></sheetData>'
    // To read the format for each style took 20 s.
    assert.deepEqual(await linesWithin(4, workbook({ Plants: cell }, { styles })), ['7'])
  })

  test('with a password, however large', async () => {
    const head = Buffer.from('d0cf11e0a1b11ae1', 'hex')
    const bytes = Buffer.concat([head, Buffer.alloc(3 * MIB - 30), Buffer.from('EncryptedPackage', 'utf16le')])
    class Large extends File {
      override arrayBuffer(): Promise<ArrayBuffer> {
        throw new Error('all of it in memory')
      }
    }
    const file = new Large([new Uint8Array(bytes)], 'plants.xlsx')
    assert.equal(await sheetsIn(file, new AbortController().signal), 'locked')
    assert.equal(await opened(zip(partsOf({ Plants: '' }).map((part) => ({ ...part, flags: 1 })))), 'locked')
  })

  test('that is none, or is broken', async () => {
    const good = workbook(NAMED)
    const broken: readonly Buffer[] = [
      Buffer.from('PK\x03\x04 and no archive'),
      good.subarray(0, -30),
      Buffer.concat([good.subarray(0, 60), Buffer.alloc(40), good.subarray(100)]),
      workbook({ Plants: '<sheetData><row><c r="1A"><v>1</v></c></row></sheetData>' }),
      workbook({ Plants: '<sheetData><row r="0"><c><v>1</v></c></row></sheetData>' }),
      workbook({ Plants: '<sheetData><row r=1>' }),
      // A program that was stopped while it wrote: its archive is sound, and its last rows are missing.
      zip(changed((content) => content.replace(/<row r="2">.*/s, ''), NAMED)),
      workbook({ Plants: '<!DOCTYPE x [<!ENTITY a "aaa">]>' }),
      zip(partsOf({ Plants: '' }).slice(0, 3)),
      zip(partsOf({ Plants: '' }).slice(1)),
    ]
    for (const [i, bytes] of broken.entries()) assert.equal(await opened(bytes), 'unreadable', `file ${i}`)
  })

  test('in the form of another program, which it names', async () => {
    assert.equal(await opened(fixture('libreoffice.xls')), '.xls')
    assert.equal(await opened(fixture('sheetjs.xlsb')), '.xlsb')
    assert.equal(await opened(zip([{ name: 'Index/Document.iwa', content: 'x' }])), '.numbers')
  })

  test('at once when another file takes its place', async () => {
    const ending = new AbortController()
    const rows = Array.from({ length: 30_000 }, (_, i) => [`Rosa ${i}`, 'bed'])
    const reading = sheetsIn(new File([new Uint8Array(workbook({ Plants: rowsOf(rows) }))], 'x.xlsx'), ending.signal)
    ending.abort()
    assert.equal(await reading, 'unreadable')
  })

  test('at each cut and flipped byte without a message of a library, and reads no other text', async () => {
    const good = workbook({ Plants: rowsOf([['name'], ...Array.from({ length: 50 }, (_, i) => [`Aloe ${i}`])]) })
    const expected = await lines(good)
    for (let at = 0; at < good.length; at++) {
      const flipped = [1, 0x55].map((bits) => good.map((byte, i) => (i === at ? byte ^ bits : byte)))
      for (const bytes of [good.subarray(0, at), ...flipped.map((each) => Buffer.from(each))]) {
        const found = await opened(bytes)
        if (typeof found === 'string') assert.ok(['unreadable', 'locked', 'large'].includes(found), `byte ${at}`)
        // Where nothing was damaged that the reader needs.
        else if (found.length > 0) assert.deepEqual(await lines(bytes), expected, `byte ${at}`)
      }
    }
  })
})

/** An OpenDocument spreadsheet with a hidden sheet before that of these rows. */
function document(rows: string): Buffer {
  const hidden = '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
  const secret =
    '<table:table table:style-name="h"><table:table-row><table:table-cell><text:p>no</text:p></table:table-cell></table:table-row></table:table>'
  const body = `<office:body><office:spreadsheet>${secret}<table:table table:name="Plants">${rows}</table:table></office:spreadsheet></office:body>`
  const content = `<office:document-content><office:automatic-styles>${hidden}</office:automatic-styles>${body}</office:document-content>`
  return zip([{ name: 'content.xml', content }])
}

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
    assert.deepEqual(await lines(document(`${rows}${blanks}`)), [
      ...cells.map(([, expected]) => expected),
      'Bed 1,Abies',
      'Bed 1,Acer',
    ])
    const two = '<table:table-row table:number-rows-repeated="2"><table:table-cell/><table:table-cell'
    const repeated = `${two} table:number-columns-repeated="2"${text('x')}</table:table-cell></table:table-row>`
    assert.deepEqual(await lines(document(repeated)), [',x,x', ',x,x'])
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
      assert.equal(await opened(document(row)), fault, row.slice(0, 120))
      assert.ok(process.memoryUsage.rss() - before < 500 * MIB)
    }
    const manifest = '<manifest:manifest><manifest:encryption-data/></manifest:manifest>'
    const locked = [
      { name: 'content.xml', content: '\u0001' },
      { name: 'META-INF/manifest.xml', content: manifest },
    ]
    assert.equal(await opened(zip(locked)), 'locked')
  })
})
