import assert from 'node:assert/strict'
import { suite } from 'node:test'
import fc from 'fast-check'
import { guess } from '../../src/import/sheet/guess.ts'
import { ImportRun, type Outcome } from '../../web/src/import/run.ts'
import { openSheet } from '../../web/src/import/sheet.ts'
import { clientOf } from '../client/support.ts'
import { holds } from '../support/property.ts'
import { onService } from '../support/service-tests.ts'

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

const sumOf = ({ added, updated, unchanged, refused, leftOut }: Omit<Outcome, 'refusedRows'>): number =>
  added + updated + unchanged + refused + leftOut

suite('each row of a file is in exactly one figure', () => {
  onService('of the report of the service', async (service) => {
    await holds(
      fc.asyncProperty(lines, fc.boolean(), fc.constantFrom('add', 'update'), async (table, isDryRun, mode) => {
        const file = ['id,name,tag', ...table.map((cells) => cells.join(','))].join('\n')
        const path = `/plants/import?dryRun=${isDryRun}&mode=${mode}`
        const answer = await service.send('POST', path, { headers: { 'content-type': 'text/csv' }, body: file })
        assert.equal(answer.status, 200, answer.body)
        assert.equal(sumOf({ ...(answer.json as Omit<Outcome, 'leftOut'>), leftOut: 0 }), rowsIn(table))
      }),
      { numRuns: 300 },
    )
  })

  onService('of the check and the import in the page', async (service) => {
    const client = clientOf(service)
    const { signal } = new AbortController()
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
          await run.check(client, signal)
          assert.equal(sumOf(run.checked(decisions)), rows, file)
          assert.equal(sumOf(await run.import(client, decisions, () => {}, signal)), rows, file)
        },
      ),
      { numRuns: 150 },
    )
  })
})
