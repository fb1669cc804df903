import assert from 'node:assert/strict'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { OperatorError } from '../../src/base/operator-error.ts'
import { makeBackup, restoreBackup } from '../../src/sqlite/upkeep/backup.ts'
import { checkStore } from '../../src/sqlite/upkeep/check.ts'
import { TESTER } from '../support/actor.ts'
import { tempFolder } from '../support/files.ts'
import { openSqlite } from '../support/open-sqlite.ts'
import { plant } from '../support/store-under-test.ts'

/** Changes of a schema, with what the refusal names. */
const CHANGES: readonly (readonly [sql: string, names: RegExp])[] = [
  [
    'CREATE TRIGGER keep BEFORE UPDATE OF revoked_at ON tokens BEGIN SELECT RAISE(IGNORE); END',
    /it has the trigger "keep" of "tokens"/,
  ],
  [
    'CREATE TRIGGER "take" AFTER INSERT ON plants BEGIN DELETE FROM plants WHERE id = NEW.id; END',
    /it has the trigger "take" of "plants"/,
  ],
  ['CREATE VIEW others AS SELECT * FROM tokens', /it has the view "others"/],
  ['CREATE TABLE notes (text TEXT)', /it has the table "notes"/],
  ['CREATE UNIQUE INDEX once ON plants (name)', /it has the index "once" of "plants"/],
  ["ALTER TABLE plants ADD COLUMN bed TEXT NOT NULL DEFAULT ''", /the table "plants" is not as this program makes it/],
  ['DROP INDEX changes_of_plant', /the index "changes_of_plant" of "changes" is missing/],
  [
    'ALTER TABLE tokens RENAME TO kept; CREATE VIEW tokens AS SELECT * FROM kept',
    /the table "tokens" is missing[\s\S]*it has the view "tokens"/,
  ],
]

test('a restore and a check refuse what the migrations do not make', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  const { store } = await openSqlite(t, { path })
  await store.importPlants([plant(1n, 'Rosa')], 'add', TESTER)
  await store.close()
  const file = join(folder, 'backup.db')
  await makeBackup(path, file)
  for (const [i, [sql, names]] of CHANGES.entries()) {
    const changed = join(folder, `changed-${i}.db`)
    copyFileSync(file, changed)
    const db = new DatabaseSync(changed)
    db.exec(sql)
    db.close()
    const target = join(folder, `restored-${i}.db`)
    await assert.rejects(restoreBackup(target, changed, { replace: false }), (error) => {
      assert.ok(error instanceof OperatorError)
      assert.match(error.message, /it is no backup by this program/)
      assert.match(error.message, names)
      return true
    })
    assert.equal(existsSync(target), false)
    const [schema] = (await checkStore(changed)).parts
    assert.match(schema?.faults.join('\n') ?? '', names)
  }
  const target = join(folder, 'restored.db')
  await restoreBackup(target, file, { replace: false })
  const found = (await checkStore(target)).parts.flatMap(({ faults }) => faults)
  assert.deepEqual(found, [])
})
