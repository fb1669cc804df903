import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { command } from '../support/commands.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'
import { plantsIn, tempFolder } from '../support/files.ts'
import { pluck } from '../support/pluck.ts'
import { assertEnded, type Outcome, run } from '../support/process.ts'
import { SECRET } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { inCommon, readAsPage, sheetPath } from '../support/sheets.ts'
import { answering, terminalTest } from '../support/terminal.ts'
import { words } from '../support/words.ts'
import { rowsOf, workbook, zip } from '../support/workbook.ts'

const COUNTS = (added: number, unchanged: number, refused: number) =>
  new RegExp(`: ${added} added, 0 updated, ${unchanged} unchanged, ${refused} refused; `)

const fixture = (name: string): string => fileURLToPath(new URL(`../import/fixtures/${name}`, import.meta.url))

const env = { PLANTSTORE_TOKEN: SECRET }
const NUMBERS = zip([{ name: 'Index/Document.iwa', content: 'x' }])

const stored = (folder: string) =>
  Array.from(plantsIn(join(folder, 'data/plants.db')), ([id, plant]) => ({ id, ...plant }))
const named = (folder: string): string[] =>
  stored(folder).map(({ name, tag }) => (tag === undefined ? name : `${name} (${tag})`))

/** Runs an import in a folder of its own, with a file in it. */
async function importing(
  t: TestContext,
  name: string,
  file: string | Buffer,
  ...flags: string[]
): Promise<Outcome & { folder: string }> {
  const folder = tempFolder(t)
  writeFileSync(join(folder, name), file)
  return { ...(await command(['import', name, ...flags], { cwd: folder })), folder }
}

/** Imports a sheet on a terminal, where a person answers one question after the other. */
async function answeredFor(t: TestContext, name: string, answers: readonly string[]) {
  const folder = tempFolder(t)
  return { folder, ...(await answering(t, ['import', fileURLToPath(sheetPath(name))], answers, { cwd: folder })) }
}

suite('plantstore import of a sheet', () => {
  test('stores what it takes', async (t) => {
    for (const name of ['french-macintosh.csv', 'ids-odd.csv', 'days-from-1904.xlsx', 'sheetjs.ods']) {
      const { columns, hasIds, plants, refused } = await readAsPage(name)
      const { stderr, folder } = await importing(t, name, readFileSync(sheetPath(name)), '--columns', columns.join(','))
      assert.match(stderr, COUNTS(plants.length, 0, refused))
      assert.deepEqual(inCommon(stored(folder), hasIds), inCommon(plants, hasIds))
    }
  })

  test('says which option to give where nobody can be asked, and stores nothing', async (t) => {
    for (const name of ['nursery-list.csv', 'japanese.csv', 'no-header-rooms.csv', 'german.csv']) {
      const { columns } = await readAsPage(name)
      const { stderr, code, folder } = await importing(t, name, readFileSync(sheetPath(name)), '--dry-run')
      assert.ok(stderr.includes(`--columns '${columns.join(',')}'`), stderr)
      assert.equal(code, 2)
      assert.throws(() => stored(folder))
    }
    const unknown = await importing(t, 'a.csv', 'Abies,tree\nBetula,tree\n')
    assert.match(unknown.stderr, /--columns 'name=…,tag=…'; it has the columns "Column A", "Column B"/)
  })

  test('assigns ids where more rows than a person mends have none in the likely column', async (t) => {
    const rows = Array.from({ length: 60 }, (_, i) => `${i < 39 ? i : `2-${i}`},Abies alba,B${i}`)
    const few = await importing(t, 'a.csv', `CatalogNumber,Name,Bed\n${rows.join('\n')}\n`)
    assert.match(few.stderr, /--columns 'name=Name,tag=Bed'/)
    const one = await importing(t, 'a.csv', `CatalogNumber,Name,Bed\n${rows.slice(0, 59).join('\n')}\n`)
    assert.match(one.stderr, /--columns 'id=CatalogNumber,name=Name,tag=Bed'/)
  })

  terminalTest('shows on a terminal what it takes the columns for, and imports it after a yes alone', async (t) => {
    const answered = (answer: string) => answeredFor(t, 'price-list.csv', [answer])
    const yes = await answered('y\n')
    const said = /windows-1252, semicolons; row 2 names the columns; ids are assigned, names in "Bezeichnung"/
    assert.match(yes.stdout, said)
    assert.match(yes.stdout, /10419 \| Rose »Gloria Dei« \| A-Qualität \| 8,50/)
    assert.equal(named(yes.folder).length, 3)
    const no = await answered('n\n')
    assert.match(no.stdout, /nothing was stored; name the columns with --columns/)
    assert.equal(no.code, 1)
    assert.throws(() => named(no.folder))
  })

  terminalTest('asks on a terminal once what tags such as NA are, and keeps them elsewhere', async (t) => {
    const left = await answeredFor(t, 'no-value.csv', ['y\n', 'y\n'])
    assert.match(left.stdout, /Leave out the tags "NA", "NULL", "\\N", "NaN", "None"\? \[y\/N\]/)
    assert.equal(left.stdout.split('Leave out the tags').length, 2)
    const names = ['Acer palmatum', 'Rosa glauca', 'Ilex aquifolium', 'Tilia cordata', 'Fagus sylvatica', 'Cornus mas']
    assert.deepEqual(named(left.folder).toSorted(), [...names, 'NA (B1)'].toSorted())
    const kept = await answeredFor(t, 'no-value.csv', ['n\n', 'y\n'])
    assert.ok(named(kept.folder).includes('Acer palmatum (NA)'), kept.stdout)
    const none = await answeredFor(t, 'no-value.csv', ['y\n', 'n\n'])
    assert.throws(() => named(none.folder))
    const file = readFileSync(sheetPath('no-value.csv'))
    const unasked = await importing(t, 'no-value.csv', file, '--columns', 'name=Name,tag=Bed')
    assert.match(unasked.stderr, /^tags that may stand for none, in 6 rows: "NA", "NULL"/m)
    assert.ok(named(unasked.folder).includes('Rosa glauca (NULL)'))
    const guessed = await importing(t, 'no-value.csv', file)
    assertEnded(guessed, 2, /say which columns hold the plants, such as --columns 'name=Name,tag=Bed'/)
  })

  test('says what it does as the page does, and proposes nothing that would refuse most rows', async (t) => {
    const rows = ['id,Plant,Bed,Price', 'A-1,Abies,NA,1', ',Climbers', 'A-2,Hoya,B,2', 'A-3,Rosa,B,3'].concat(
      words`A-4,Ilex,B,4 A-5,Acer,B,5`,
    )
    const { stderr } = await importing(t, 'a.csv', `${rows.join('\n')}\n`, '--columns', 'name=Plant,tag=Bed')
    for (const line of [
      'not kept: the columns "id", "Price"',
      'the column "id" has no numbers: ids are assigned',
      'tags that may stand for none, in 1 row: "NA"',
      'rows that look like totals or headings: 3 "Climbers"',
    ])
      assert.ok(stderr.includes(`${line}\n`), stderr)
    const sum = await importing(t, 'a.xlsx', readFileSync(fixture('total-formula.xlsx')), '--columns', 'name=Name')
    assert.match(sum.stderr, /^rows that look like totals or headings: 5 "Total"$/m)
    const noted = `Plant,Bed\nAbies,A\nRosa,B\nRosa canina L. ex Hort.,
A = north\nCounted by the gardeners in spring.\n# end\n0,C\nNA,C\n`
    const { stderr: notes } = await importing(t, 'a.csv', noted, '--columns', 'name=Plant,tag=Bed')
    assert.match(
      notes,
      /totals or headings: 5 "A = north", 6 "Counted by the gardeners in spring\.", 7 "# end", 8 "0, C", 9 "NA, C"$/m,
    )
    const names = Array.from({ length: 40 }, (_, i) => `A,Rosa ${i % 2}`).join('\n')
    const few = await importing(t, 'a.csv', `Bed,Plant\n${names}\n`, '--columns', 'name=Plant,tag=Bed')
    assert.match(few.stderr, /^40 rows have only 2 different names$/m)
    const again = Array.from({ length: 90 }, (_, i) => `${i % 60},Rosa ${i}`).join('\n')
    const twice = await importing(t, 'a.csv', `Nr,Plant\n${again}\n`)
    assert.match(twice.stderr, /--columns 'name=Plant'/)
    const filled = await importing(t, 'a.csv', `Plant,Bed,Dry\nAbies,A,FALSE\n${',,FALSE\n'.repeat(9)}`)
    assert.match(filled.stderr, /: say which columns hold the plants/)
    const without = await importing(t, 'a.xlsx', readFileSync(sheetPath('formula-name.xlsx')))
    assertEnded(without, 2, /most rows would be refused \(row 2: D2 is a formula without a value: .*\); say which/)
    assert.throws(() => stored(without.folder))
  })

  test('asks nothing where the columns say what they hold, whatever the name of the file', async (t) => {
    const { stderr, code, folder } = await importing(t, 'a.xlsx', readFileSync(fixture('libreoffice.xlsx')))
    assert.match(stderr, COUNTS(4, 0, 0))
    assert.deepEqual([code, stored(folder).length], [0, 4])
    for (const [name, file] of [
      ['a.ods', 'libreoffice.ods'],
      ['a.csv', 'libreoffice.xlsx'],
      ['b.csv', 'libreoffice-semicolon.csv'],
    ] as const) {
      const other = await importing(t, name, readFileSync(fixture(file)))
      assert.deepEqual(stored(other.folder), stored(folder))
    }
  })

  test('says how to save a workbook of another program, and reads text that has its name', async (t) => {
    for (const name of ['libreoffice.xls', 'sheetjs.xlsb', 'numbers.numbers']) {
      const file = name === 'numbers.numbers' ? NUMBERS : readFileSync(fixture(name))
      const { stderr, code, folder } = await importing(t, name, file)
      assert.match(stderr, /(?:old workbook \(\.xls\)|\.xlsb\)|document of Numbers); .*(?:as CSV|or CSV)$/m)
      assert.equal(code, 1)
      assert.throws(() => stored(folder))
    }
    const { folder } = await importing(t, 'text.XLS', 'id\tname\ttag\n1\tAbies\tA\n')
    assert.deepEqual(named(folder), ['Abies (A)'])
    const flat = await importing(t, 'plants.fods', '<?xml version="1.0"?><office:document/>')
    assert.match(flat.stderr, /XML \(as in \.fods, and in some files named \.xls\); save the sheet as CSV$/m)
  })

  test('reads the sheet of a workbook with most rows of several columns, and names rows by their numbers', async (t) => {
    const rows = [
      ['Botanical\nname', 'Bed'],
      ['Abies', 'A\nB'],
      ['', 'C'],
      ['Acer', undefined],
      ['Total', '2'],
      ['#REF!', '3'],
    ]
    const file = workbook({ Notes: rowsOf([['made by A. Moss']]), Plants: rowsOf(rows), Empty: '' })
    const { stderr, code, folder } = await importing(t, 'a.xlsx', file, '--columns', 'name=botanical NAME, tag=Bed')
    assert.match(stderr, /sheet "Plants", the likeliest of 2 sheets; row 1 names the columns;/)
    assert.match(stderr, /^row 3: error 40002: name is required$/m)
    assert.match(stderr, /^row 5: error 40002: the row looks like a sum and not like a plant/m)
    assert.match(stderr, /^row 6: error 40002: the name is the error "#REF!" of a formula/m)
    assert.match(stderr, COUNTS(2, 0, 3))
    assert.deepEqual([code, named(folder)], [1, ['Abies (A\nB)', 'Acer']])
  })

  test('leaves out what is stored when it is repeated, and stores nothing in a dry run', async (t) => {
    const folder = tempFolder(t)
    writeFileSync(join(folder, 'a.csv.gz'), gzipSync('Plant;Bed\nFern;A\nFern;A\nMoss;\n'))
    const repeated = (...flags: string[]) =>
      command(['import', 'a.csv.gz', '--columns', 'name=Plant,tag=Bed', '--ids', 'assign', ...flags], { cwd: folder })
    assert.match((await repeated()).stderr, COUNTS(3, 0, 0))
    writeFileSync(join(folder, 'a.csv.gz'), gzipSync('Plant;Bed\nFern;A\nFern;A\nMoss;\nHoya;B\n'))
    assert.match((await repeated('--dry-run')).stderr, COUNTS(1, 3, 0))
    assert.equal(stored(folder).length, 3)
    assert.match((await repeated()).stderr, COUNTS(1, 3, 0))
    assert.deepEqual(pluck(stored(folder), 'id'), [1n, 2n, 3n, 4n])
  })

  test('reads a sheet from standard input', async (t) => {
    const folder = tempFolder(t)
    writeFileSync(join(folder, 'a'), 'Plant,Bed\nFern,A\n')
    const under = ['sh', '-c', 'cat a | "$0" "$@"']
    const args = ['import', '-', '--format', 'csv', '--columns', 'name=Plant']
    const { stderr } = await run(t, args, { cwd: folder, under })
    assert.match(stderr, COUNTS(1, 0, 0))
  })

  const FILE = 'Plant,Bed\nFern,A\n'
  const locked = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from('EncryptedPackage', 'utf16le')])
  const bomb = workbook({ Plants: rowsOf([['Plant'], ['Fern']]) }, { said: 2 ** 30 })
  type Refusal = readonly [what: string, file: string | Buffer, flags: string, code: number, message: RegExp]
  const refusals: readonly Refusal[] = [
    ['a member of no plant', FILE, '--columns name=Plant,height=Bed', 2, /^plantstore: --columns must be id=…, n/],
    ['a column that the sheet lacks', FILE, '--columns name=Name', 1, /names the column "Name"; it has "Plant", "Bed"/],
    ['an update without ids', FILE, '--columns name=Plant --mode update', 2, /--mode update: needs rows with ids/],
    ['ids for rows that have some', 'id,name\n1,a\n', '--ids assign', 2, /--ids: the file has a column of ids/],
    ['a workbook that is none', Buffer.from('PK\x03\x04 is no archive'), '', 1, /the workbook cannot be read/],
    ['a workbook with a password', locked, '--columns name=Plant', 1, /the workbook has a password/],
    ['a workbook that unpacks to gigabytes', bomb, '', 1, /the workbook unpacks to more than 128 MiB/],
    ['a workbook without cells', workbook({ Plants: '' }), '', 1, /the workbook has no cells/],
    ['a PDF', '%PDF-1.7', '', 1, /the file is not text but a PDF/],
  ]
  for (const [what, file, flags, code, message] of refusals) {
    test(`refuses ${what}, and stores nothing`, async (t) => {
      const outcome = await importing(t, 'a.xlsx', file, ...flags.split(' ').filter(Boolean))
      assert.match(outcome.stderr, message)
      assert.equal(outcome.code, code)
      assert.throws(() => stored(outcome.folder))
    })
  }

  test('refuses columns of NDJSON, which gets ids without them', async (t) => {
    const refused = await importing(t, 'a.ndjson', '{"name":"Fern"}\n', '--columns', 'name=name')
    assert.match(refused.stderr, /--columns: NDJSON has none/)
    const rows = '{"name":"Fern"}\n{"id":3,"name":"x"}\n'
    const { stderr, folder } = await importing(t, 'a.ndjson', rows, '--ids', 'assign')
    assert.match(stderr, COUNTS(1, 0, 1))
    assert.deepEqual(named(folder), ['Fern'])
  })

  onService('goes through a service, which assigns the ids, with the rows as in the sheet', async (service, t) => {
    const folder = tempFolder(t)
    writeFileSync(join(folder, 'a.csv'), 'List\nPlant;Bed\nFern;A\n;B\nFern;A\nTotal;2\n')
    writeFileSync(join(folder, 'b.csv'), 'List\nNo.;Plant\n1;Fern\nx;Moss\n7;Moss\n')
    writeFileSync(join(folder, 'c.ndjson'), '{"name":"Hoya"}\n{"name":"Fern","tag":"A"}\n')
    const through = (...args: string[]) =>
      command(['import', ...args, '--url', `http://127.0.0.1:${service.port}`], { cwd: folder, env })
    const sheet = ['a.csv', '--columns', 'name=Plant,tag=Bed']
    assert.match((await through(...sheet, '--dry-run')).stderr, COUNTS(2, 0, 2))
    const first = await through(...sheet)
    assert.match(first.stderr, COUNTS(2, 0, 2))
    assert.match(first.stderr, /^line 4: error 40002: name is required$/m)
    assert.match((await through(...sheet)).stderr, COUNTS(0, 2, 2))
    const numbered = ['b.csv', '--columns', 'id=No.,name=Plant']
    assert.match((await through(...numbered, '--dry-run')).stderr, COUNTS(1, 0, 2))
    const second = await through(...numbered)
    assert.match(second.stderr, /^line 3: error 40901/m)
    assert.match(second.stderr, /^line 4: error 40002/m)
    assert.match((await through('c.ndjson', '--ids', 'assign')).stderr, COUNTS(1, 1, 0))
    assert.deepEqual((await service.plants()).map(({ name }) => name).toSorted(), ['Fern', 'Fern', 'Hoya', 'Moss'])
  })

  onService('adds and refuses nothing twice where an answer was lost, not even equal rows', async (service, t) => {
    const folder = tempFolder(t)
    writeFileSync(join(folder, 'a.csv'), 'Plant\nFern\nMoss\nFern\nTotal\n')
    const proxy = await cuttingProxy(t, `http://127.0.0.1:${service.port}`, { received: 1, connections: 1 })
    const args = ['import', 'a.csv', '--columns', 'name=Plant', '--url', proxy.address]
    const { stderr, code } = await command(args, { cwd: folder, env })
    assert.match(stderr, /retrying for 5m/)
    assert.match(stderr, COUNTS(0, 3, 1))
    assert.equal(code, 1)
    assert.deepEqual((await service.plants()).map(({ name }) => name).toSorted(), ['Fern', 'Fern', 'Moss'])
  })
})
