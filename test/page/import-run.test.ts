import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { ImportSource } from '../../client/src/import.ts'
import { type ImportOptions, type ImportReport, PlantstoreClient } from '../../client/src/index.ts'
import { csvLine } from '../../src/import/csv-rows.ts'
import type { Decisions } from '../../src/import/sheet/decided-rows.ts'
import { guess } from '../../src/import/sheet/guess.ts'
import { ImportRun, type Outcome } from '../../web/src/import/run.ts'
import { openSheet } from '../../web/src/import/sheet.ts'
import { clientOf, urlOf } from '../client/support.ts'
import { holds } from '../support/property.ts'
import { SECRET, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

const FOREVER = new AbortController().signal

/** A client whose imports can lose their answers. */
class Client extends PlantstoreClient {
  /** The number of the import whose answer is lost; 0: none. */
  lost = 0

  override async importPlants(source: ImportSource, options: ImportOptions = {}): Promise<ImportReport> {
    const report = await super.importPlants(source, options)
    if (options.dryRun !== true && this.lost > 0) {
      this.lost -= 1
      if (this.lost === 0) throw new Error('the answer is lost')
    }
    return report
  }
}

const counted = ({ added, updated, unchanged, leftOut, refused }: Omit<Outcome, 'refusedRows'>): number =>
  added + updated + unchanged + leftOut + refused

suite('an import of a sheet without ids', () => {
  test('counts each row once, does what the person decided, and adds nothing twice after a lost answer', async (t) => {
    const service = await withService(t)
    const client = new Client({ url: urlOf(service), token: SECRET, attempts: 1 })
    // A person who signs in again goes on with another token.
    const { secret } = await service.issueToken(['plants:read', 'plants:write'])
    const other = new Client({ url: urlOf(service), token: secret, attempts: 1 })
    const names = ['', 'Abies', 'Abies alba', 'Abies alva', 'Acer', 'Total', 'Heading', 'Rosa 1', 'Rosa 2'] as const
    const name = fc.constantFrom(...names)
    const tag = fc.constantFrom('', 'bed 1', 'bed 2')
    const row = fc.tuple(name, tag, fc.constantFrom('', 'note'))
    const sheets = fc.tuple(
      fc.array(row, { minLength: 1, maxLength: 12 }),
      fc.array(row, { maxLength: 6 }),
      fc.record({ leavesOut: fc.boolean(), fillsTags: fc.boolean(), isSame: fc.boolean() }),
      fc.func(fc.boolean()),
      fc.func(fc.boolean()),
      fc.integer({ min: 0, max: 2 }),
    )
    const property = fc.asyncProperty(
      sheets,
      async ([rows, before, { fillsTags, isSame, ...choices }, changes, leaves, lost]) => {
        for await (const { id } of client.exportPlants()) await client.deletePlant(id)
        const ids = await client.reserveIds(before.length + 1)
        for (const [i, [plant, bed]] of before.entries()) {
          await client.createPlant({ id: ids.first + BigInt(i), name: plant, ...(bed === '' ? {} : { tag: bed }) })
        }
        const lines = [['Name', 'Bed', 'Note'], ...rows].map((cells) =>
          csvLine(cells.map((cell) => (cell === '' ? undefined : cell))),
        )
        const sheet = await openSheet(new File(lines, 'plants.csv'), { header: 1, separator: ',' })
        const mapping = guess(sheet.columns, sheet.below, true)
        const run = new ImportRun(sheet, { mapping: { ...mapping, fillsTags }, mode: 'add' }, 'plants.csv')
        await run.check(client, FOREVER)
        const changing = new Set(run.findings.similar.map(({ row }) => row.number).filter((number) => changes(number)))
        const leaving = new Set([...run.findings.doubtful.keys()].filter((number) => leaves(number)))
        const decisions: Decisions = { ...choices, leaving, changing }
        const count = rows.filter((cells) => cells.some((cell) => cell !== '')).length
        const checked = run.checked(decisions)
        assert.equal(counted(checked), count)
        assert.equal(checked.updated, changing.size)
        client.lost = lost
        let outcome = await run.import(client, decisions, () => {}, FOREVER).catch(() => undefined)
        client.lost = 0
        outcome ??= await run.import(isSame ? client : other, decisions, () => {}, FOREVER)
        assert.equal(counted(outcome), count)
        // What a lost answer had stored is unchanged the second time.
        assert.equal(outcome.added + outcome.updated + outcome.unchanged, checked.added + checked.updated)
        const stored = new Map<bigint, string>()
        for await (const plant of client.exportPlants()) stored.set(plant.id, `${plant.name} ${plant.tag ?? '-'}`)
        assert.equal(stored.size, before.length + checked.added)
        for (const { row, plant, stored: was } of run.findings.similar) {
          const { name, tag = '-' } = changing.has(row.number) ? plant : was
          assert.equal(stored.get(was.id), `${name} ${tag}`)
        }
        const withIds = await Array.fromAsync(run.rowsWithIds())
        assert.equal(new Set(withIds.map(({ row: { number } }) => number)).size, withIds.length)
        for (const { row: each, id } of withIds) assert.ok(stored.get(id)?.startsWith(`${each.cells[0]} `))
      },
    )
    await holds(property, { numRuns: 60 })
  })
})

/** Cells with quotation marks that are a part of the text, or that belong there, or that are wrong. */
const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('Abies', 'Acer', 'Rosa', 'bed 1') },
  { weight: 2, arbitrary: fc.constantFrom('"Rosa ""Peace"""', '"Abies, ""alba"""', '"a;b"') },
  { weight: 2, arbitrary: fc.constantFrom('a"b', '"a', '"a"b', '5" pot', '') },
)
const id = fc.oneof(fc.integer({ min: 1, max: 30 }).map(String), fc.constantFrom('x', '', '"7"'))
const line = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(id, text, text) },
  { weight: 1, arbitrary: fc.constantFrom([''], ['', '', ''], ['1', 'Abies', 'bed 1', 'further']) },
)
const lines = fc.array(line, { minLength: 1, maxLength: 25 })

/**
 * The rows of a file below its names of columns. No quotation mark above ends a text with a line end in it, so each line
 * that is not blank is a row.
 */
const rowsIn = (table: readonly (readonly string[])[]): number =>
  table.filter((cells) => cells.some((cell) => cell !== '')).length

suite('each row of a file is in exactly one figure', () => {
  onService('of the report of the service', async (service) => {
    await holds(
      fc.asyncProperty(lines, fc.boolean(), fc.constantFrom('add', 'update'), async (table, isDryRun, mode) => {
        const file = ['id,name,tag', ...table.map((cells) => cells.join(','))].join('\n')
        const path = `/plants/import?dryRun=${isDryRun}&mode=${mode}`
        const answer = await service.send('POST', path, { headers: { 'content-type': 'text/csv' }, body: file })
        assert.equal(answer.status, 200, answer.body)
        assert.equal(counted({ ...(answer.json as Omit<Outcome, 'leftOut'>), leftOut: 0 }), rowsIn(table))
      }),
      { numRuns: 300 },
    )
  })

  onService('of the check and the import in the page', async (service) => {
    const client = clientOf(service)
    await holds(
      fc.asyncProperty(
        lines,
        fc.constantFrom(',', ';', '\t'),
        fc.boolean(),
        fc.boolean(),
        async (table, separator, hasIds, isQuoted) => {
          const file = [['id', 'name', 'tag'], ...table]
            .map((cells) => cells.slice(hasIds ? 0 : Math.min(1, cells.length - 1)).join(separator))
            .join('\n')
          const rows = rowsIn(table.map((cells) => cells.slice(hasIds ? 0 : Math.min(1, cells.length - 1))))
          const reading = { separator, header: 1, ...(separator === '\t' ? {} : { isQuoted }) } as const
          const sheet = await openSheet(new File([file], 'plants.csv'), reading)
          const plan = { mapping: guess(sheet.columns, sheet.below, true), mode: 'add' } as const
          const run = new ImportRun(sheet, plan, 'plants.csv')
          const decisions = { leavesOut: true, leaving: new Set<number>(), changing: new Set<number>() }
          await run.check(client, FOREVER)
          assert.equal(counted(run.checked(decisions)), rows, file)
          assert.equal(counted(await run.import(client, decisions, () => {}, FOREVER)), rows, file)
        },
      ),
      { numRuns: 150 },
    )
  })
})
