import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import type { ImportReport } from '../../client/src/index.ts'
import { columnsOf, openTable } from '../../src/cli/import-sheet.ts'
import { isSum } from '../../src/import/sheet/column-names.ts'
import { pluck } from '../support/pluck.ts'
import { type Answer, assertRefused, emptyService, errorOf, messageOf, type Service } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { inCommon, isWorkbookName, readAsPage, SHEETS, sheetPath } from '../support/sheets.ts'

const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'

const queryOf = (columns: readonly string[], others: Readonly<Record<string, string>> = {}): string =>
  new URLSearchParams([
    ...columns.map((each) => ['columns', each] as [string, string]),
    ...Object.entries(others),
  ]).toString()

const send = (service: Service, query: string, body: string | Buffer, type = CSV): Promise<Answer> =>
  service.importFile(body, { type, query: `?${query}` })

function reportOf(answer: Answer): Omit<ImportReport, 'dryRun'> {
  assert.equal(answer.status, 200, answer.body)
  const { dryRun, ...report } = answer.json as ImportReport
  return report
}

/** The counts of added, unchanged and refused rows. */
function countsOf(answer: Answer): number[] {
  const { added, unchanged, refused } = reportOf(answer)
  return [added, unchanged, refused]
}

const named = async (service: Service): Promise<string[]> =>
  (await service.plants()).map(({ name, tag }) => (tag === null ? name : `${name} (${tag})`)).toSorted()

const NAMES = queryOf(['name=name', 'tag=bed'])

async function* piecesOf(file: Buffer): AsyncGenerator<Buffer> {
  yield file
}

suite('page, command and service make the same plants', () => {
  for (const name of SHEETS) {
    onEmpty(`of ${name}`, async (service) => {
      const { columns, hasIds, plants, refused } = await readAsPage(name)
      const expected = inCommon(plants, hasIds)
      const file = readFileSync(sheetPath(name))
      const options = { columns: columnsOf([columns.join(',')]), mode: 'add', quiet: true } as const
      const { batches } = await openTable(name, piecesOf(file), options)
      const read = await Array.fromAsync(batches())
      assert.deepEqual(inCommon(pluck(read, 'plants').flat(), hasIds), expected)
      assert.equal(pluck(read, 'refused').flat().length, refused)
      if (isWorkbookName(name)) return
      assert.deepEqual(countsOf(await send(service, queryOf(columns), file)), [plants.length, 0, refused])
      const stored = (await service.plants()).map(({ tag, ...plant }) => ({ ...plant, tag: tag ?? undefined }))
      assert.deepEqual(inCommon(stored, hasIds), expected)
    })
  }
})

suite('an import of a sheet, by the names of its columns', () => {
  onEmpty('beyond its first 64 KiB, by their encoding and separator', async (service) => {
    const lines = Array.from({ length: 6000 }, (_, i) => `${i};Häberlea ${i};Süd\r\n`)
    const file = Buffer.from(`Liste;;\r\nNr.;Pflanze;Beet\r\n${lines.join('')}`, 'latin1')
    assert.deepEqual(countsOf(await send(service, queryOf(['id=nr.', 'name=PFLANZE', 'tag=Beet']), file)), [6000, 0, 0])
    assert.equal((await service.plants()).find(({ id }) => id === 5999n)?.name, 'Häberlea 5999')
  })

  onEmpty('refuses a row that is not UTF-8 behind rows that are', async (service) => {
    const good = Array.from({ length: 6000 }, (_, i) => `Ünnamed ${i}\n`).join('')
    const answer = await send(
      service,
      queryOf(['name=name']),
      Buffer.concat([Buffer.from(`name\n${good}`), Buffer.from('H\xe4\n', 'latin1')]),
    )
    assert.deepEqual(countsOf(answer), [6000, 0, 1])
    assert.match(reportOf(answer).refusedRows[0]?.message ?? '', /as Windows-1252 it has "Hä"/)
  })

  onEmpty('takes a charset at its word', async (service) => {
    const answer = await send(
      service,
      queryOf(['name=name']),
      Buffer.from('name\nH\xe4\nMoss\n', 'latin1'),
      `${CSV}; charset=utf-8`,
    )
    assert.deepEqual(countsOf(answer), [1, 0, 1])
  })

  onEmpty('joins columns to a name, and refuses rows without a name and sums', async (service) => {
    const file = 'Genus,Species,Bed\nAbies,alba,A\n,,B\nTotal,,2\nAcer,,\n'
    const answer = await send(service, queryOf(['name=Genus', 'name=Species', 'tag=Bed']), file)
    assert.deepEqual(countsOf(answer), [2, 0, 2])
    const { refusedRows } = reportOf(answer)
    assert.deepEqual([pluck(refusedRows, 'line'), pluck(refusedRows, 'error')].flat(), [3, 4, 40002, 40002])
    assert.deepEqual(await named(service), ['Abies alba (A)', 'Acer'])
  })

  test('takes for sums what says nothing else, in whatever marks, and no plant that has such a word', () => {
    const sums = ['(Total)', 'Total (12)', '– Summe: –', 'sous-total', 'TotalPlants', '（Total）', 'Gesamt 1.234,5']
    for (const sum of sums) assert.ok(isSum(sum), sum)
    for (const name of ['Som (Rosa)', 'Total eclipse', 'Summe (Acer)', '(Rosa)', '']) assert.ok(!isSum(name), name)
  })

  onEmpty('keeps the ids of a sheet that has some', async (service) => {
    const query = queryOf(['id=No.', 'name=Plant'])
    const file = 'No.,Plant\n7,Fern\nx,Moss\n'
    assert.deepEqual(countsOf(await send(service, `${query}&dryRun=true`, file)), [1, 0, 1])
    assert.deepEqual(await service.plants(), [])
    assert.deepEqual(countsOf(await send(service, query, file)), [1, 0, 1])
    assert.deepEqual(countsOf(await send(service, query, file)), [0, 1, 1])
    assert.deepEqual(countsOf(await send(service, `${query}&mode=update`, 'No.,Plant\n7,Tree fern\n')), [0, 0, 0])
    assert.deepEqual(await service.plants(), [{ id: 7n, name: 'Tree fern', tag: null }])
  })

  const FILE = 'name,bed\nFern,A\n'
  const refusals: readonly (readonly [
    what: string,
    columns: readonly string[],
    error: number,
    message: RegExp,
    other?: { readonly file?: string | Buffer; readonly mode?: string; readonly ids?: string },
  ])[] = [
    ['a member that no plant has', ['height=cm'], 40003, /^columns must be id=…, name=… or tag=…/],
    ['no member', ['name'], 40003, /columns must be id=…/],
    ['no name of a column', ['name= '], 40003, /columns must name a column for name/],
    ['a column twice', ['name=bed', 'tag=Bed'], 40003, /columns must name a column once, not "bed" twice/],
    ['two tags', ['name=name', 'tag=a', 'tag=b'], 40003, /columns must name one column for tag/],
    ['no column of names', ['tag=bed'], 40003, /columns must name the column of the names/],
    ['a column that the sheet lacks', ['name=Plant'], 40001, /names the column "Plant"; it has "name", "bed"/],
    ['a place beyond the sheet', ['name=Column F'], 40001, /no column "Column F"/],
    ['a column by its name and its place', ['name=name', 'tag=Column A'], 40001, /one column of the sheet twice/],
    [
      'a name of two columns',
      ['name=name'],
      40001,
      /by its place, Column A and Column B/,
      { file: 'name,Name\na,b\n' },
    ],
    ['an empty sheet', ['name=name'], 40001, /the sheet has no cells/, { file: ' \n,,\n' }],
    ['a workbook', ['name=name'], 40001, /not text but a workbook/, { file: Buffer.from('PK\x03\x04…') }],
    ['another mode without ids', ['name=name'], 40003, /mode=delete needs rows with ids/, { mode: 'delete' }],
    ['ids beside a column of ids', ['name=name', 'id=bed'], 40003, /^ids must be left out/, { ids: 'assign' }],
    ['ids for CSV without columns', [], 40003, /ids=assign needs columns for CSV/, { ids: 'assign' }],
  ]
  for (const [what, columns, error, message, { file = FILE, ...others } = {}] of refusals) {
    onEmpty(`refuses ${what}, and stores nothing`, async (service) => {
      assertRefused(await send(service, queryOf(columns, others), file), error, message)
      assert.deepEqual(await service.plants(), [])
    })
  }

  onEmpty('with 65,000 columns takes no more of the processor than many requests', async (service) => {
    const names = Array.from({ length: 20 }, (_, i) => `name=No ${i}`)
    const places = Array.from({ length: 20 }, (_, i) => `name=Column ${String.fromCharCode(65 + i)}`)
    const wide = [`${'a,'.repeat(32_000)}b\n`, `${','.repeat(65_000)}b\n`]
    const distinct = `${Array.from({ length: 10_000 }, (_, i) => `c${i}`).join(',')}\n`
    const before = process.cpuUsage()
    for (const body of [...wide, distinct]) {
      assert.equal(errorOf(await send(service, queryOf(names), body)), 40001)
      reportOf(await send(service, queryOf(places), `${body}1,2\n`))
    }
    // Comparing each cell with all others took 11 s for one of these requests.
    assert.ok(process.cpuUsage(before).user < 6e6)
  })

  onEmpty('finds columns of two letters by their places', async (service) => {
    const row = Array.from({ length: 60 }, (_, i) => `cell ${i}`)
    const body = `${row.map(() => 'x').join()}\n${row.join()}\n`
    reportOf(await send(service, queryOf(['name=Column z', 'tag=Column BA']), body))
    assert.deepEqual(await named(service), ['cell 25 (cell 52)', 'x (x)'])
  })

  test('refuses columns of NDJSON', async () => {
    const answer = await send(await emptyService(), NAMES, '{"name":"Fern"}\n', NDJSON)
    assert.match(messageOf(answer), /columns works only with text\/csv/)
  })
})

suite('an import that assigns ids', () => {
  onEmpty('adds a plant for each row, also for equal ones, after the largest id in use', async (service) => {
    assert.deepEqual(countsOf(await send(service, '', '{"id":41,"name":"Moss"}\n', NDJSON)), [1, 0, 0])
    const answer = await send(service, 'ids=assign', '{"name":"Fern"}\n{"name":"Fern"}\n{"id":1,"name":"x"}\n', NDJSON)
    assert.deepEqual(countsOf(answer), [2, 0, 1])
    assert.match(reportOf(answer).refusedRows[0]?.message ?? '', /id must be left out with ids=assign/)
    const plants = await service.plants()
    assert.deepEqual(pluck(plants, 'name'), ['Moss', 'Fern', 'Fern'])
    assert.ok(plants.every(({ id }) => id >= 41n))
  })

  onEmpty('leaves out rows that are stored, by name and tag as they are', async (service) => {
    await send(service, '', '{"id":1,"name":"Fern","tag":"A"}\n{"id":2,"name":"Moss"}\n', NDJSON)
    const file = 'name,bed\nFern,A\nFern,a\nMoss,\nMoss,""\nfern,A\n'
    assert.deepEqual(countsOf(await send(service, `${NAMES}&dryRun=true`, file)), [3, 2, 0])
    assert.deepEqual(countsOf(await send(service, NAMES, file)), [3, 2, 0])
    assert.deepEqual(countsOf(await send(service, NAMES, file)), [0, 5, 0])
    assert.deepEqual(await named(service), ['Fern (A)', 'Fern (a)', 'Moss', 'Moss ()', 'fern (A)'])
  })

  onEmpty('says which row has which id, and adds rows that are stored where it is asked to', async (service) => {
    const file = 'name,bed\nFern,A\n,B\nMoss,\nHoya,\n'
    const { assignedRows, duplicates } = reportOf(await send(service, NAMES, file))
    const [first = 0] = (await service.plants()).map(({ id }) => Number(id))
    assert.deepEqual(assignedRows, [
      { line: 2, id: first, rows: 1 },
      { line: 4, id: first + 1, rows: 2 },
    ])
    assert.equal(duplicates, undefined)
    const query = `${NAMES}&ids=assignAll`
    assert.deepEqual(countsOf(await send(service, `${query}&dryRun=true`, file)), [3, 0, 1])
    const headers = { 'Idempotency-Key': randomUUID() }
    const again = await service.importFile(file, { type: CSV, query: `?${query}`, headers })
    assert.deepEqual(countsOf(again), [3, 0, 1])
    assert.deepEqual(pluck(reportOf(again).assignedRows ?? [], 'rows'), [1, 2])
    assert.deepEqual(await named(service), ['Fern (A)', 'Fern (A)', 'Hoya', 'Hoya', 'Moss', 'Moss'])
  })

  onEmpty('lists rows that are stored, and stored plants that others look like, in a dry run', async (service) => {
    const stored = ["Rosa 'Peace',1", 'Acer palmtum,1', 'Hosta sieboldiana,2', 'Seedling 12,2']
    await send(service, '', `id,name,tag\n${stored.map((row, i) => `${i + 11},${row}\n`).join('')}`)
    const rows = [
      "Rosa 'Peace',1",
      'Acer palmatum,1',
      "Hosta sieboldiana 'Elegans',2",
      'Seedling 13,2',
      'Acer palmtum,2',
    ]
    const file = `name,bed\n${rows.join('\n')}\n`
    const similar = [
      { line: 3, plant: { id: 12, name: 'Acer palmtum', tag: '1' } },
      { line: 4, plant: { id: 13, name: 'Hosta sieboldiana', tag: '2' } },
    ]
    for (const [ids, counts] of Object.entries({ assign: [4, 1, 0], assignAll: [5, 0, 0] })) {
      const answer = await send(service, `${NAMES}&ids=${ids}&dryRun=true&duplicates=true`, file)
      const { duplicates, duplicateRows, similarRows, assignedRows } = reportOf(answer)
      assert.deepEqual(countsOf(answer), counts)
      assert.deepEqual([duplicates, duplicateRows, similarRows], [1, [{ line: 2, id: 11 }], similar])
      assert.equal(assignedRows, undefined)
    }
  })

  onEmpty('needs the scope to read plants', async (service) => {
    const { secret } = await service.issueToken(['plants:write'])
    const sending = { authorization: `Bearer ${secret}`, query: '?ids=assign' }
    assertRefused(await service.importFile('{"name":"Fern"}\n', sending), 40301)
    assert.deepEqual(await service.plants(), [])
  })
})
