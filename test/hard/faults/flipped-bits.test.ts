import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { matches, type PlantFilter, type PlantOrder } from '../../../src/domain/plant-query.ts'
import type { Store } from '../../../src/domain/store.ts'
import { indexPath, UnreadyIndex } from '../../../src/sqlite/indexed.ts'
import { QueryReader } from '../../../src/sqlite/read/query-reader.ts'
import { checkStore } from '../../../src/sqlite/upkeep/check.ts'
import type { Task } from '../../../src/sqlite/worker/cooperative.ts'
import { TESTER } from '../../support/actor.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { plantsIn, tempFolder } from '../../support/files.ts'
import { send } from '../../support/load.ts'
import { openSqlite, storeAt } from '../../support/open-sqlite.ts'
import { run, startServer } from '../../support/process.ts'
import { assertIndexMatches, IDLE, indexAll, inFile } from '../../support/sqlite-indexes.ts'
import { exportAll } from '../../support/store-calls.ts'
import { plant, refusal } from '../../support/store-under-test.ts'
import { until } from '../../support/until.ts'

const PLANTS = 600
const FLIPS = 24
/** A plant that `hide` takes out of the index. */
const HIDDEN = 7n

/** Creates a store with a complete index, and closes it. */
async function indexedStore(t: TestContext, size = PLANTS): Promise<string> {
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  const plants = Array.from({ length: size }, (_, i) => plant(BigInt(i), `Fern ${i} of bed ${i % 17}`, `tag ${i % 5}`))
  await store.importPlants(plants, 'add', TESTER)
  await store.close()
  indexAll(path)
  return path
}

/** Hides a plant as a flipped bit may do: SQLite finds no fault in what is left. */
const hide = (path: string): void =>
  inFile(indexPath(path), (db) =>
    db.exec(`DELETE FROM words WHERE rowid = ${HIDDEN}; DELETE FROM tags WHERE id = ${HIDDEN};
      DELETE FROM names WHERE id = ${HIDDEN}; DELETE FROM recent_names WHERE id = ${HIDDEN}`),
  )

/** Copies of an index with a flipped bit each, spread over the file, and over the bits of a byte. */
function* flipped(index: Buffer, flips: number): Generator<readonly [at: number, bytes: Buffer]> {
  for (let flip = 0; flip < flips; flip++) {
    const bytes = Buffer.from(index)
    const at = Math.floor(((flip + 0.37) / flips) * index.length)
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (flip % 8)), at)
    yield [at, bytes]
  }
}

const indexPart = async (path: string): Promise<string | undefined> =>
  (await checkStore(path)).parts.find(({ part }) => part === 'index')?.found

test('after a check no flipped bit of the index hides a plant', async (t) => {
  const path = await indexedStore(t)
  const copy = join(tempFolder(t), 'plants.db')
  const index = readFileSync(indexPath(path))
  for (const [, bytes] of flipped(index, FLIPS)) {
    copyFileSync(path, copy)
    writeFileSync(indexPath(copy), bytes)
    assert.equal(await indexPart(copy), 'made anew')
    assertIndexMatches(copy)
  }
})

test('check --reindex has a service make its index anew, and check alone leaves it', async (t) => {
  const path = await indexedStore(t)
  hide(path)
  const { address } = await startServer(t, join(path, '..'))
  const found = async () => {
    const { body } = await send('GET', `${address}/plants?q=${HIDDEN}&tag=tag+${HIDDEN % 5n}&limit=1000`)
    return (JSON.parse(body) as unknown[]).length
  }
  const hidden = await found()
  const [alone, asked] = [['check'], ['check', '--reindex']].map((command) => [...command, '--store', `sqlite:${path}`])
  assert.match((await run(t, alone ?? [])).stderr, /^index: ok \(not made anew, as a service uses it; --reindex /m)
  assert.equal(await found(), hidden)
  assert.match((await run(t, asked ?? [])).stderr, /^index: ok \(the service makes it anew\)/m)
  await until(async () => (await found()) !== hidden, 'the service keeps its index')
})

/** More plants than an export looks at as a whole. */
const MANY = 3000

test('no flipped bit of the index hides a plant from an export by id', async (t) => {
  const path = await indexedStore(t, MANY)
  const copy = join(tempFolder(t), 'plants.db')
  copyFileSync(path, copy)
  const index = readFileSync(indexPath(path))
  const filters: PlantFilter[] = [['17'], ['fern', '290'], ['be', '1234']].map((words) => ({ tags: [], words }))
  filters.push({ tags: ['tag 3', 'tag 4'], words: ['77'] })
  const all = plantsIn(path)
  const wanted = filters.map((filter) => [...all].filter(([, one]) => matches(filter, one)).length)
  for (const [at, bytes] of flipped(index, 4 * FLIPS)) {
    writeFileSync(indexPath(copy), bytes)
    const found = filters.map((filter) => exportedBy(copy, filter).length)
    assert.deepEqual(found, wanted, `the bit at ${at}`)
  }
  writeFileSync(indexPath(copy), index)
  hide(copy)
  for (const filter of [
    { tags: [], words: [`${HIDDEN}`] },
    { tags: [`tag ${HIDDEN % 5n}`], words: [`${HIDDEN}`] },
  ])
    assert.ok(exportedBy(copy, filter).includes(HIDDEN))
})

/** Reads an export as the thread for queries does for a client, which asks again where the index has failed. */
function exportedBy(path: string, filter: PlantFilter): bigint[] {
  for (const isRetry of [false, true]) {
    const reader = new QueryReader(path)
    try {
      done(reader.openExport(1, filter, 'id', false, isRetry))
      const ids: bigint[] = []
      for (let chunk = done(reader.readExport(1)).ids; chunk.length > 0; chunk = done(reader.readExport(1)).ids) {
        ids.push(...chunk)
      }
      return ids
    } catch (error) {
      if (!(error instanceof UnreadyIndex)) throw error
    } finally {
      reader.close()
    }
  }
  return assert.fail('an export that does without the index fails by it')
}

function done<T>(task: Task<T>): T {
  for (;;) {
    const step = task.next()
    if (step.done === true) return step.value
  }
}

test('an export with words or tags, or by name, does not lack a plant that the index hides', async (t) => {
  const path = await indexedStore(t)
  hide(path)
  const store = await storeAt(path, { create: false })
  cleanUp(t, () => store.close())
  const all: PlantFilter = { tags: [], words: [] }
  for (const filter of [
    { ...all, words: ['bed', String(HIDDEN)] },
    { ...all, tags: [`tag ${HIDDEN % 5n}`] },
  ]) {
    assert.ok((await exported(store, filter, 'id')).includes(HIDDEN))
  }
  // The first chunks have left, so that the export can only break off. Its retry has the index made anew.
  await assert.rejects(exported(store, { ...all, words: ['fern'] }, 'name'), refusal(50301))
  for (;;) {
    const ids = await exported(store, all, 'name').catch((error: unknown) => void refusal(50301)(error))
    if (ids === undefined) continue
    assert.equal(new Set(ids).size, PLANTS)
    break
  }
})

for (const served of [false, true]) {
  test(`after an export of a command has met damage of the index${served ? ' beside a service' : ''}, the next ones are whole`, async (t) => {
    const path = await indexedStore(t)
    if (served) await startServer(t, join(path, '..'))
    hide(path)
    const flags = ['export', '-', '--format', 'ndjson', '--sort', 'name', '--store', `sqlite:${path}`]
    const { code, stderr } = await run(t, flags)
    assert.equal(code, 1)
    assert.match(stderr, /50301/)
    let plants = 0
    const isWhole = async () => {
      const next = await run(t, flags)
      plants = next.stdout.split('\n').length - 1
      return next.code === 0
    }
    await until(isWhole, 'every further export fails')
    assert.equal(plants, PLANTS)
  })
}

const exported = async (store: Store, filter: PlantFilter, order: PlantOrder): Promise<bigint[]> =>
  (await exportAll(store, filter, order)).map(({ id }) => id)
