import assert from 'node:assert/strict'
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { withStore } from '../../../src/cli/open-store.ts'
import type { Store } from '../../../src/domain/store.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { makeBackup, restoreBackup } from '../../../src/sqlite/upkeep/backup.ts'
import { TESTER } from '../../support/actor.ts'
import { copyAsAfterCrash, isIntact, plantsIn, tempFolder } from '../../support/files.ts'
import { Program, run } from '../../support/process.ts'
import { plant } from '../../support/store-under-test.ts'
import { until } from '../../support/until.ts'

/** Sends the process a signal after the nth call that makes, links, renames or removes a file with this name. */
const signalled = (signal: NodeJS.Signals, calls: number, name: RegExp): string[] => {
  const script = `import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    let left = ${calls}
    for (const call of ['openSync', 'linkSync', 'renameSync', 'rmSync']) {
      const real = fs[call]
      fs[call] = (path, ...rest) => {
        const there = fs.existsSync(path)
        const result = real(path, ...rest)
        const counts = there === (call !== 'openSync') && ${name}.test(path)
        if (counts && --left === 0) process.kill(process.pid, '${signal}')
        return result
      }
    }
    syncBuiltinESMExports()`
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
}

const open = (path: string, work: (store: Store) => Promise<unknown>, create = false): Promise<unknown> =>
  withStore(readConfig({ store: `sqlite:${path}` }, {}).store, { create, quiet: true }, work)

/** @param meanwhile called while the store is open */
async function fill(path: string, ids: readonly bigint[], meanwhile = () => {}): Promise<void> {
  const plants = ids.map((id) => plant(id))
  const work = async (store: Store) => {
    await store.importPlants(plants, 'add', TESTER)
    meanwhile()
  }
  await open(path, work, true)
}

/** The ids in a copy of the file without its log: SQLite would read the log of another store. */
function idsIn(t: TestContext, path: string): string {
  const probe = join(tempFolder(t), 'probe')
  copyFileSync(path, probe)
  assert.ok(isIntact(probe))
  return [...plantsIn(probe).keys()].join()
}

const draftsIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes('.new-'))

const replacedIn = (folder: string): string[] =>
  readdirSync(folder).filter((name) => /\.replaced-[^-]*(?:-\d+)?$/.test(name))

/** Runs the command once for each of its steps, and kills it there. Ends after the run that no step killed. */
async function killAtEachStep(
  t: TestContext,
  name: RegExp,
  prepare: (folder: string) => { readonly args: readonly string[] },
  mustMend: (folder: string) => Promise<void>,
): Promise<void> {
  for (let calls = 1; ; calls++) {
    const folder = tempFolder(t)
    const { args } = prepare(folder)
    const { code, stderr } = await run(t, args, { nodeArgs: signalled('SIGKILL', calls, name) })
    assert.ok(code === null || code === 0, stderr)
    await mustMend(folder)
    if (code === 0) return assert.ok(calls > 4, `there were only ${calls} steps`)
  }
}

/** A backup of plant 1, and a store of plants 2 and 3 that a restore of it replaces. */
async function replaced(t: TestContext) {
  const folder = tempFolder(t)
  const [source, backup, old] = [join(folder, 'source'), join(folder, 'backup'), join(folder, 'old')]
  await fill(source, [1n])
  await makeBackup(source, backup)
  mkdirSync(old)
  await fill(join(old, 'plants.db'), [2n, 3n])
  const prepare = (here: string) => {
    cpSync(old, here, { recursive: true })
    return { args: ['restore', backup, '--replace', '--store', `sqlite:${join(here, 'plants.db')}`] }
  }
  return { folder, backup, old, prepare }
}

suite('a kill at any step', () => {
  test('of restore --replace leaves one of the two stores, which starts; the rest mends itself', async (t) => {
    const { prepare } = await replaced(t)
    const seen = new Set<string>()
    await killAtEachStep(t, /plants\.db/, prepare, async (here) => {
      const path = join(here, 'plants.db')
      await open(path, async (store) => store.countPlants())
      const ids = idsIn(t, path)
      seen.add(ids)
      assert.deepEqual(draftsIn(here), [])
      assert.equal(statSync(path).nlink, 1, 'the store has one name')
      const kept = replacedIn(here).map((name) => idsIn(t, join(here, name)))
      assert.deepEqual(kept, ids === '1' ? ['2,3'] : [])
    })
    assert.deepEqual([...seen], ['2,3', '1'])
  })

  test('of restore --replace beside the log of another store is mended by a start, a restore or a backup', async (t) => {
    const { folder, backup, old, prepare } = await replaced(t)
    const [other, probe] = [join(folder, 'other'), join(folder, 'probe')]
    await fill(other, [9n], () => copyAsAfterCrash(other, probe))
    copyFileSync(`${probe}-wal`, join(old, 'plants.db-wal'))
    const menders = [
      (path: string) => open(path, async (store) => store.countPlants()),
      (path: string) => makeBackup(path, `${path}-copy`),
    ]
    let step = 0
    await killAtEachStep(t, /plants\.db/, prepare, async (here) => {
      const path = join(here, 'plants.db')
      const mending = menders[step++ % menders.length]?.(path)
      // Before the restore, the log of the other store was in the way of each start, and it still is.
      if (idsIn(t, path) === '2,3') await assert.rejects(async () => mending, /the log \S+-wal belongs to another file/)
      else await mending
      assert.equal(statSync(path).nlink, 1, 'the store has one name')
      await restoreBackup(path, backup, { replace: true })
      assert.deepEqual([idsIn(t, path), draftsIn(here)], ['1', []])
      const kept = replacedIn(here).filter((name) => existsSync(join(here, `${name}-wal`)))
      const found = kept.map((name) => idsIn(t, join(here, name)))
      assert.deepEqual(found, ['2,3'], 'the store and its log stay together')
    })
  })

  test('of a backup leaves no part of it after the next backup into the folder', async (t) => {
    const store = join(tempFolder(t), 'plants.db')
    await fill(store, [1n])
    const prepare = (here: string) => ({ args: ['backup', join(here, 'first.db'), '--store', `sqlite:${store}`] })
    await killAtEachStep(t, /first\.db/, prepare, async (here) => {
      await makeBackup(store, join(here, 'second.db'))
      const [name = '', ...others] = readdirSync(here).filter((file) => file !== 'second.db')
      assert.ok(others.length === 0 && ['', 'first.db'].includes(name), `${name}, ${others}`)
      if (name !== '') assert.equal(idsIn(t, join(here, name)), '1')
    })
  })

  test('of an import that creates the store leaves no draft after the next start', async (t) => {
    const prepare = (here: string) => {
      writeFileSync(join(here, 'plants.csv'), 'id,name\n1,Fern\n')
      return { args: ['import', join(here, 'plants.csv'), '--store', `sqlite:${join(here, 'plants.db')}`] }
    }
    await killAtEachStep(t, /plants\.db/, prepare, async (here) => {
      await fill(join(here, 'plants.db'), [7n])
      assert.deepEqual(draftsIn(here), [])
      assert.match(idsIn(t, join(here, 'plants.db')), /^(?:1,)?7$/)
    })
  })
})

test('the draft of a process that lives is not removed, and becomes the backup', async (t) => {
  const folder = tempFolder(t)
  const store = join(folder, 'plants.db')
  await fill(store, [1n])
  const file = join(folder, 'first.db')
  // The first file is the lock of the draft, the second one the draft.
  const first = new Program(t, ['backup', file, '--store', `sqlite:${store}`], {
    nodeArgs: signalled('SIGSTOP', 2, /first\.db/),
  })
  await until(() => draftsIn(folder).length === 2 || !first.isRunning, 'there is no draft')
  assert.ok(first.isRunning, first.stderr)
  await makeBackup(store, join(folder, 'second.db'))
  assert.equal(draftsIn(folder).length, 2)
  first.signal('SIGCONT')
  const { code, stderr } = await first.outcome
  assert.equal(code, 0, stderr)
  assert.deepEqual([idsIn(t, file), draftsIn(folder)], ['1', []])
})
