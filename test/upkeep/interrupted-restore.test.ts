import assert from 'node:assert/strict'
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { withStore } from '../../src/cli/open-store.ts'
import { readConfig } from '../../src/config.ts'
import { makeBackup } from '../../src/sqlite/upkeep/backup.ts'
import { restoreBackup } from '../../src/sqlite/upkeep/restore.ts'
import { TESTER } from '../support/actor.ts'
import { copyAsAfterCrash, isIntact, plantsIn, tempFolder } from '../support/files.ts'
import { run } from '../support/process.ts'
import { plant } from '../support/store-under-test.ts'

/** Kills the process after the nth call that links, renames or removes a file of the store, like a crash. */
const killedAfter = (calls: number): string[] => {
  const script = `import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    let left = ${calls}
    for (const name of ['linkSync', 'renameSync', 'rmSync']) {
      const real = fs[name]
      fs[name] = (path, ...rest) => {
        const there = fs.existsSync(path)
        real(path, ...rest)
        if (there && /plants\\.db/.test(path) && --left === 0) process.kill(process.pid, 'SIGKILL')
      }
    }
    syncBuiltinESMExports()`
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
}

/** @param meanwhile called while the store is open */
async function fill(path: string, ids: readonly bigint[], meanwhile = () => {}): Promise<void> {
  await withStore(readConfig({ store: `sqlite:${path}` }, {}).store, { create: true, quiet: true }, async (store) => {
    await store.importPlants(
      ids.map((id) => plant(id)),
      'add',
      TESTER,
    )
    meanwhile()
  })
}

suite('a crash after any step of restore --replace', () => {
  test('leaves the old or the new store, and running the command again completes the restore', async (t) => {
    const folder = tempFolder(t)
    const [source, other, backup] = [join(folder, 'source'), join(folder, 'other'), join(folder, 'backup')]
    const [old, probe] = [join(folder, 'old'), join(folder, 'probe')]
    await fill(source, [1n])
    await makeBackup(source, backup)
    mkdirSync(old)
    await fill(join(old, 'plants.db'), [2n, 3n])
    // Puts the log of another store beside the store, so that the restore has steps for two files.
    await fill(other, [9n], () => copyAsAfterCrash(other, probe))
    copyFileSync(`${probe}-wal`, join(old, 'plants.db-wal'))
    rmSync(`${probe}-wal`)

    /** The ids in a copy of the file without its log: SQLite would read the log of another store. */
    const idsIn = (path: string): string => {
      copyFileSync(path, probe)
      assert.ok(isIntact(probe))
      return [...plantsIn(probe).keys()].join()
    }
    const states: string[] = []
    for (let calls = 1; ; calls++) {
      const here = join(folder, `after-${calls}`)
      cpSync(old, here, { recursive: true })
      const path = join(here, 'plants.db')
      const store = ['--store', `sqlite:${path}`]
      const { code, stderr } = await run(t, ['restore', backup, '--replace', ...store], {
        nodeArgs: killedAfter(calls),
      })
      assert.ok(code === null || code === 0, stderr)
      const hasLog = existsSync(`${path}-wal`)
      states.push(`${idsIn(path)}${hasLog ? ' with the log' : ''}`)
      const opening = withStore(readConfig({ store: `sqlite:${path}` }, {}).store, { create: false }, async () => {})
      // The message names the obstacle: the log of the old store, or a second name of the file.
      if (hasLog) await assert.rejects(opening, /the log \S+-wal belongs to another file|the file has \d names/)
      else await opening
      await restoreBackup(path, backup, { replace: true })
      assert.equal(idsIn(path), '1')
      const kept = readdirSync(here).filter((name) => /\.replaced-[^-]*(?:-\d+)?$/.test(name))
      assert.ok(kept.some((name) => idsIn(join(here, name)) === '2,3' && existsSync(join(here, `${name}-wal`))))
      if (code === 0) break
    }
    assert.deepEqual([...new Set(states)], ['2,3 with the log', '1 with the log', '1'])
  })
})
