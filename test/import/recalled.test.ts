import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { CsvRow } from '../../src/import/csv-rows.ts'
import { RowNotes } from '../../src/import/sheet/recall.ts'
import { clientOf } from '../client/support.ts'
import { emptyService } from '../support/service.ts'

// The storage of a browser, which Node.js has only behind a flag.
const kept = new Map<string, string>()
Object.defineProperty(globalThis, 'localStorage', {
  value: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
  },
})
const { dropCells, plantsRecalled, recall, remember } = await import('../../web/src/import/remembered.ts')

const COLUMNS = ['Number', 'Name']
const MAPPING = { id: undefined, name: [1], tag: undefined }

const rowOf = (number: number, ...cells: string[]): CsvRow => ({ number, line: number, cells, isEnded: true })

/** Remembers rows with their ids. */
function keep(...rows: readonly (readonly [id: bigint, ...cells: string[]])[]): void {
  const notes = new RowNotes(COLUMNS, MAPPING)
  for (const [i, [, ...cells]] of rows.entries()) notes.take(rowOf(i + 2, ...cells))
  remember('list.csv', notes, (row) => rows[row - 2]?.[0])
}

/** Rows that would add a plant, by their numbers. */
const adding = (...rows: readonly (readonly [number: number, ...cells: string[]])[]) =>
  new Map(
    rows.map(([row, ...cells]) => [
      row,
      { row: rowOf(row, ...cells), plant: { id: undefined, name: cells[1] ?? '', tag: undefined } },
    ]),
  )

suite('the ids of an earlier import of a file', () => {
  test('are recalled by a column that names each plant', async () => {
    keep([7n, 'A-1', 'Rosa'], [8n, 'A-2', 'Aloe'])
    const found = recall('list (1).csv', COLUMNS, [{ row: 2, id: undefined }], adding([2, 'A-2', 'Aloe vera']))
    assert.deepEqual(
      found.map(({ id, isNamed, candidate }) => [id, isNamed, candidate.row.number]),
      [[8n, true, 2]],
    )
    assert.ok(![...kept.values()].some((text) => text.includes('A-2')), 'a cell is kept in clear')
  })

  test('that version 1.0.0 kept with cells lose these at the start of the page', async () => {
    keep([7n, 'A-1', 'Rosa'])
    const [[name = '', text = ''] = []] = [...kept].filter(([, each]) => each.includes('list.csv'))
    kept.set(name, text.replace(/"hashes":"[^"]*"/, '"cells":["Ada Lovelace"]'))
    dropCells()
    assert.ok(!kept.get(name)?.includes('Ada'))
  })

  test('are not recalled where another row has the plant already', async () => {
    keep([7n, 'A-1', 'Rosa'], [8n, 'A-2', 'Aloe'])
    const rows = [
      { row: 2, id: 8n },
      { row: 3, id: undefined },
    ]
    assert.deepEqual(recall('list.csv', COLUMNS, rows, adding([3, 'A-2', 'Aloe vera'])), [])
  })

  test('are not recalled by a column with a cell that is empty, long or there twice', async () => {
    for (const cells of [
      ['', 'A-2'],
      ['A-1', 'A-1'],
      ['x'.repeat(61), 'A-2'],
    ]) {
      const [one = '', two = ''] = cells
      keep([7n, one, 'Rosa'], [8n, two, 'Aloe'])
      const rows = [
        { row: 2, id: undefined },
        { row: 3, id: undefined },
        { row: 4, id: undefined },
      ]
      assert.deepEqual(recall('list.csv', COLUMNS, rows, adding([4, two, 'Aloe vera'])), [], cells.join())
    }
  })
})

test('a plant whose row stands where it stood is offered only if it is like the row', async () => {
  const client = clientOf(await emptyService())
  await client.createPlant({ id: 1n, name: 'Rosa alba', tag: 'bed 1' })
  await client.createPlant({ id: 2n, name: 'Quercus robur', tag: 'bed 2' })
  await client.createPlant({ id: 3n, name: 'Acer rubrum', tag: 'bed 3' })
  const recalled = (id: bigint, name: string, tag: string, isNamed = false) => ({
    candidate: { row: rowOf(Number(id)), plant: { id: undefined, name, tag } },
    id,
    isNamed,
  })
  const rows = [
    recalled(1n, 'Rosa × alba', 'another bed'),
    recalled(2n, 'Fagus sylvatica', 'bed 2'),
    recalled(3n, 'Tilia cordata', 'another bed'),
    recalled(4n, 'gone', 'bed 4'),
  ]
  const found = await plantsRecalled(client, rows, AbortSignal.timeout(60_000))
  assert.deepEqual(found.map(({ row }) => row.number).toSorted(), [1, 2])
  const named = [recalled(3n, 'Tilia cordata', 'another bed', true)]
  assert.equal((await plantsRecalled(client, named, AbortSignal.timeout(60_000))).length, 1)
})
