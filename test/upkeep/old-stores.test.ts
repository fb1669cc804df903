import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { MAX_ID, MIN_ID, type Plant } from '../../src/domain/plant.ts'
import { makeBackup, restoreBackup } from '../../src/sqlite/upkeep/backup.ts'
import { checkStore } from '../../src/sqlite/upkeep/check.ts'
import { statusOf } from '../../src/sqlite/upkeep/status.ts'
import { isIntact, plantsIn, tempFolder } from '../support/files.ts'
import { startServer } from '../support/process.ts'

const FIXTURES = new URL('./fixtures/', import.meta.url)
const SCHEMAS = readdirSync(new URL('../../sql/sqlite/', import.meta.url)).map((name) => Number.parseInt(name, 10))
/** The oldest schema with a store in the fixtures. */
const OLDEST = 2
/** The secret of the token in each of these stores. It opens nothing else. */
const SECRET = 'ps_vmKrHTnl7UbjS9mVtZvg73ESKsa7H2gvOpbmp9rS0su48PMdL'

/** The plants of each store after creates, replaces, updates and deletes (docs/decisions/0032-old-stores.md). */
const EXPECTED = new Map<bigint, Plant>([
  [MIN_ID, { name: '', tag: '' }],
  ...Array.from({ length: 20 }, (_, i): [bigint, Plant] => [
    BigInt(i),
    { name: `Monstera ${i}`, tag: i % 3 === 0 ? undefined : `tag ${i % 3}` },
  ]),
  [2n ** 53n + 1n, { name: 'Café-Baum \u0001 "\\', tag: 'é' }],
  [MAX_ID, { name: 'Welwitschia mirabilis', tag: undefined }],
  [3n, { name: 'Ficus lyrata', tag: 'replaced' }],
  [4n, { name: 'Monstera 4', tag: undefined }],
])
EXPECTED.delete(5n)

test('test/upkeep/fixtures has a store of every earlier schema', () => {
  const newest = Math.max(...SCHEMAS)
  const wanted = Array.from({ length: newest - OLDEST }, (_, i) => `schema-${OLDEST + i}.db.gz`)
  const there = readdirSync(FIXTURES)
  for (const name of wanted)
    assert.ok(there.includes(name), `${name} is missing: make it by the program of that schema`)
})

for (const name of readdirSync(FIXTURES)) {
  const schema = /\d+/.exec(name)?.[0] ?? assert.fail(name)

  test(`a store of schema ${schema} is backed up unchanged, and can be served, searched and checked`, async (t) => {
    const folder = tempFolder(t)
    const path = join(folder, 'plants.db')
    writeFileSync(path, gunzipSync(readFileSync(new URL(name, FIXTURES))), { mode: 0o600 })
    const { schema: told, nextSchema, plants, tokens } = statusOf(path)
    const newest = Math.max(...SCHEMAS)
    assert.deepEqual([told, nextSchema], [Number(schema), Number(schema) < newest ? newest : undefined])
    assert.deepEqual([plants, tokens], [EXPECTED.size, 1])
    assert.deepEqual(
      (await checkStore(path)).parts.flatMap(({ faults }) => faults),
      [],
    )
    const backup = join(folder, 'backup.db')
    await makeBackup(path, backup)
    assert.equal(statusOf(path).schema, told, 'a backup migrates nothing')

    const { program, address } = await startServer(t, folder, ['--log-level', 'warn'])
    if (Number(schema) < Math.max(...SCHEMAS))
      assert.match(program.stderr, /migrating the store from schema \d+ to \d+/)
    const get = async (path: string) => {
      const response = await fetch(address + path, { headers: { Authorization: `Bearer ${SECRET}` } })
      assert.equal(response.status, 200)
      return response.text()
    }
    const ids = async (path: string) =>
      [...(await get(path)).matchAll(/"id":(-?\d+)/g)].map(([, id]) => BigInt(id ?? ''))
    const byId = (a: bigint, b: bigint) => (a < b ? -1 : 1)
    assert.deepEqual(await ids('/plants'), [...EXPECTED.keys()].sort(byId))
    assert.equal((await ids('/plants?q=monst')).length, 18)
    assert.deepEqual(await ids('/plants?tag=replaced'), [3n])
    program.signal('SIGTERM')
    assert.equal((await program.outcome).code, 0)
    assert.deepEqual(plantsIn(path), EXPECTED)
    assert.ok(isIntact(path))
    assert.deepEqual(
      (await checkStore(path)).parts.flatMap(({ faults }) => faults),
      [],
    )

    // Going back from an upgrade: restores the backup of the older schema that was made before the upgrade.
    mkdirSync(join(folder, 'back'))
    const back = join(folder, 'back/plants.db')
    await restoreBackup(back, backup, { replace: false })
    assert.equal(statusOf(back).schema, told)
    assert.deepEqual(plantsIn(back), EXPECTED)
  })
}
