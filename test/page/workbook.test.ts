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
      const parts = partsOf({ Plants: xml }, { styles }).map((part) => ({
        ...part,
        content: String(part.content)
          .replace('<sheets>', '<workbookPr date1904="1"/><sheets>')
          .replace('</sheets>', `</sheets>${second}`),
      }))
      assert.deepEqual(await lines(zip(parts)), ['2026-03-01'])
    }
  })

  test('with the cell of a formula without a stored value, and an empty text for one that says so', async () => {
    const cell = (xml: string) => `<c ${xml}</c>`
    const cells = ['><f>1+1</f>', '><f>1</f><v/>', 't="str"><f>A1</f><v></v>', 't="str"><f>A1</f>', '><f>1</f><v>2</v>']
    const xml = `<sheetData><row r="3">${cells.map(cell).join('')}</row></sheetData>`
    assert.deepEqual((await lines(workbook({ Plants: xml }))).at(-1), '\ufdd0A3,\ufdd0B3,,\ufdd0D3,2')
  })

  test('without elements of other namespaces', async () => {
    const rows = rowsOf([['name'], ['Abies']]).replace('<t>Abies', '<x:t>no</x:t><t>Abies')
    assert.deepEqual(await lines(workbook({ Plants: rows })), ['name', 'Abies'])
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
    const parts = partsOf({ Plants: rowsOf([['name'], ['Abies']]) }).map((part) => ({
      ...part,
      name: part.name.toUpperCase().replaceAll('/', '\\'),
      content: String(part.content).replaceAll(/<(\/?)(?=\w)/g, '<$1x:'),
    }))
    assert.deepEqual(await lines(zip(parts, true)), ['name', 'Abies'])
  })

  test('without hidden sheets, and counts the rows with several texts', async () => {
    const parts = partsOf({
      'Read me': rowsOf([['These are our plants'], ['Do not edit']]),
      Plants: rowsOf([['Name', 'Bed'], ['Abies', '1'], ['Betula'], ['Acer', '2']]),
      Secret: rowsOf([['x', 'y']]),
    }).map((part) => ({
      ...part,
      content: String(part.content).replace('name="Secret"', 'name="Secret" state="hidden"'),
    }))
    const shown = (await sheets(zip(parts))).map(({ name, tableRows }) => [name, tableRows])
    assert.deepEqual(shown, [
      ['Read me', 0],
      ['Plants', 3],
    ])
  })
})

suite('the page fills merged cells of a workbook', () => {
  const merged = (rows: readonly (readonly (string | undefined)[])[], ...ranges: readonly string[]) =>
    workbook({
      Plants: `${rowsOf(rows)}<mergeCells>${ranges.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`,
    })
  const rows = [
    ['Plants of 2026'],
    ['Bed', 'Place', 'Name'],
    ['bed 1', 'left', 'Abies'],
    [undefined, undefined, 'Betula'],
    [undefined, undefined, 'Carex'],
    ['bed 2', undefined, 'Dryas'],
  ]

  test('downwards, and not to the right', async () => {
    const bytes = merged(rows, 'A1:C1', 'A3:A5', 'A6:B6')
    assert.deepEqual(await lines(bytes), [
      'Plants of 2026',
      'Bed,Place,Name',
      'bed 1,left,Abies',
      'bed 1,,Betula',
      'bed 1,,Carex',
      'bed 2,,Dryas',
    ])
    assert.equal((await sheets(bytes))[0]?.filled, 2)
  })

  test('of several rows and columns only in the first column', async () => {
    const bytes = merged(
      [
        ['Bed', 'x', 'Name'],
        ['bed 1', undefined, 'Abies'],
        [undefined, undefined, 'Betula'],
      ],
      'A2:B3',
    )
    assert.deepEqual(await lines(bytes), ['Bed,x,Name', 'bed 1,,Abies', 'bed 1,,Betula'])
  })

  test('but adds no row', async () => {
    const bytes = merged(
      [
        ['Bed', 'Name'],
        ['bed 1', 'Abies'],
      ],
      'A2:A1048576',
    )
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
    const [all, book, ...others] = partsOf({ Plants: rowsOf([['name'], ['Abies']]) })
    assert.ok(all && book)
    const large = { ...book, content: `${' '.repeat(129 * MIB)}${String(book.content)}` }
    assert.equal(await opened(zip([all, large, ...others])), 'large')
    const latin = others.map((part) => ({
      ...part,
      content: Buffer.from(String(part.content).replace('Abies', 'Abiés'), 'latin1'),
    }))
    assert.equal(await opened(zip([all, book, ...latin])), 'unreadable')
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
    const bytes = workbook({ Plants: `${rowsOf([['name'], ['Abies']])}${' '.repeat(16 * MIB)}` })
    assert.ok(bytes.length < 20_000)
    assert.deepEqual(await lines(bytes), ['name', 'Abies'])
  })

  test('but reads one with many sheets and relations that lead nowhere in the time of their number', async () => {
    const parts = partsOf({ Plants: rowsOf([['name'], ['Abies']]) }).map((part) => ({
      ...part,
      content: String(part.content)
        .replace('</sheets>', `${'<sheet r:id="none"/>'.repeat(40_000)}</sheets>`)
        .replace('</Relationships>', `${'<Relationship Id="x" Target="y"/>'.repeat(40_000)}</Relationships>`),
    }))
    const before = process.cpuUsage()
    assert.deepEqual(await lines(zip(parts)), ['name', 'Abies'])
    // A search of all relations for each sheet took 20 s.
    assert.ok(process.cpuUsage(before).user < 8e6)
  })

  test('but reads one whose cells share a long text with escapes', async () => {
    const texts = `<si><t>${'_x0041_'.repeat(MIB)}</t></si>`
    const row = '<row><c t="s"><v>0</v></c></row>'
    const before = process.cpuUsage()
    const read = await lines(workbook({ Plants: `<sheetData>${row.repeat(40)}</sheetData>` }, { texts }))
    assert.deepEqual([read.length, read[39]?.length, read[39]?.slice(0, 2)], [40, MIB, 'AA'])
    // Reading the escapes again for each cell took 30 s.
    assert.ok(process.cpuUsage(before).user < 12e6)
  })

  test('with another text than it was saved with', async () => {
    const names = Array.from({ length: 50 }, (_, i) => [`Aloe ${i}`])
    const good = workbook({ Plants: rowsOf([['name'], ...names]) })
    let changed = 0
    for (let at = 0; at < good.length; at++) {
      const flipped = Buffer.from(good)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      const found = await opened(flipped)
      if (typeof found === 'string' || found.length === 0) continue
      if ((await found[0]?.csv.text()) !== (await (await sheets(good))[0]?.csv.text())) changed++
    }
    assert.equal(changed, 0)
  })

  test('but reads one whose many styles share a long format', async () => {
    const styles = `<numFmts><numFmt numFmtId="200" formatCode="${'0'.repeat(100_000)}"/></numFmts>
      <cellXfs>${'<xf numFmtId="200"/>'.repeat(40_000)}</cellXfs>`
    const before = process.cpuUsage()
    const cell = '<sheetData><row><c s="1"><v>7</v></c></row></sheetData>'
    assert.deepEqual(await lines(workbook({ Plants: cell }, { styles })), ['7'])
    // To read the format for each style took 20 s.
    assert.ok(process.cpuUsage(before).user < 4e6)
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
  })

  test('with a password', async () => {
    const container = Buffer.concat([
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      Buffer.alloc(500),
      Buffer.from('EncryptedPackage', 'utf16le'),
    ])
    assert.equal(await opened(container), 'locked')
    assert.equal(await opened(zip(partsOf({ Plants: '' }).map((part) => ({ ...part, flags: 1 })))), 'locked')
  })

  test('that is none, or is broken', async () => {
    const good = workbook({ Plants: rowsOf([['name'], ['Abies']]) })
    const broken: readonly Buffer[] = [
      Buffer.from('PK\x03\x04 and no archive'),
      good.subarray(0, -30),
      Buffer.concat([good.subarray(0, 60), Buffer.alloc(40), good.subarray(100)]),
      workbook({ Plants: '<sheetData><row><c r="1A"><v>1</v></c></row></sheetData>' }),
      workbook({ Plants: '<sheetData><row r="0"><c><v>1</v></c></row></sheetData>' }),
      workbook({ Plants: '<sheetData><row r=1>' }),
      // A program that was stopped while it wrote: its archive is sound, and its last rows are missing.
      zip(
        partsOf({ Plants: rowsOf([['name'], ['Abies'], ['Pinus']]) }).map(({ content, ...part }) => ({
          ...part,
          content: String(content).replace(/<row r="3">.*/s, ''),
        })),
      ),
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

  test('at each cut and each flipped byte without a message of a library', async () => {
    const good = workbook({
      Plants: rowsOf([
        ['name', 'tag'],
        ['Abies', 'bed 1'],
      ]),
    })
    for (let at = 0; at < good.length; at += 7) {
      const flipped = Buffer.from(good)
      flipped[at] = (flipped[at] ?? 0) ^ 0x55
      for (const bytes of [good.subarray(0, at), flipped]) {
        const found = await opened(bytes)
        if (typeof found === 'string') assert.ok(['unreadable', 'locked', 'large'].includes(found))
        // Where nothing was damaged that the reader needs.
        else if (found.length > 0) assert.equal(await found[0]?.csv.text(), 'name,tag\r\nAbies,bed 1\r\n', `byte ${at}`)
      }
    }
  })
})
