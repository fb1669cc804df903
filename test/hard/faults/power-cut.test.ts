import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isIntact, tempFolder } from '../../support/files.ts'
import { Load } from '../../support/load.ts'
import { isLinux, notTestedHere, runs } from '../../support/not-tested.ts'
import { startServer } from '../../support/process.ts'
import { changesIn } from '../../support/sqlite-changes.ts'
import { assertSearchable, behind } from '../../support/sqlite-indexes.ts'

/** A power cut that power-cut.c simulates. */
interface PowerCut {
  /** The number of acknowledged creates before the power cut. */
  readonly after: number
  readonly nameLength: number
  readonly nodeArgs?: readonly string[]
  /** Waits until the disk has a part of the search index, too, and the log of changes has been trimmed. */
  readonly hasIndex?: boolean
}

/** Compiles the library that simulates a disk; undefined if this machine cannot. */
function forgetfulDisk(t: TestContext): string | undefined {
  const library = join(tempFolder(t), 'power-cut.so')
  const source = fileURLToPath(new URL('power-cut.c', import.meta.url))
  const canCompile = isLinux && runs('cc', '-O1', '-shared', '-fPIC', '-o', library, source, '-ldl', '-lpthread')
  return canCompile ? library : undefined
}

/** Runs a server under load until the power cut. @returns the load, and a folder with the contents of the disk */
async function cutPower(t: TestContext, library: string, cut: PowerCut): Promise<{ load: Load; disk: string }> {
  const folder = realpathSync(tempFolder(t))
  const disk = join(tempFolder(t), 'disk')
  mkdirSync(disk)
  // With an index, the test waits until the service removes changes that the index no longer needs.
  const args = cut.hasIndex === true ? ['--changes-keep', '0s'] : []
  const first = await startServer(t, folder, args)
  await first.program.ends()
  copyFileSync(first.storePath, join(disk, 'plants.db'))
  // Without this, the next start would create the index on a disk without the simulation.
  rmSync(`${first.storePath}-index`, { force: true })

  const { program, address } = await startServer(t, folder, args, {
    ...(cut.nodeArgs === undefined ? {} : { nodeArgs: cut.nodeArgs }),
    env: { LD_PRELOAD: library, POWER_CUT_FOLDER: folder, POWER_CUT_DISK: disk },
  })
  const load = new Load(address, { nameLength: cut.nameLength })
  await load.reaches(cut.after)
  if (cut.hasIndex === true) {
    await load.until(
      () => existsSync(join(disk, 'plants.db-index')) && (changesIn(first.storePath)[0]?.position ?? 0n) > 400n,
    )
  }
  await program.kill()
  await load.done
  return { load, disk }
}

const headOf = (path: string): number => Number(changesIn(path).at(-1)?.position)

const NOT_HERE = 'a power cut, because there is no C compiler or no LD_PRELOAD'

test('a power cut loses no acknowledged plant, even around a checkpoint', async (t) => {
  const library = forgetfulDisk(t)
  if (library === undefined) return notTestedHere(t, NOT_HERE)
  // The second load fills the log, so that SQLite checkpoints and restarts it.
  for (const cut of [
    { after: 400, nameLength: 20 },
    { after: 4000, nameLength: 1000 },
  ]) {
    const { load, disk } = await cutPower(t, library, cut)
    const path = join(disk, 'plants.db')
    if (cut.nameLength > 20) assert.ok(statSync(path).size > 2 ** 20, 'the log was checkpointed')
    await startServer(t, disk)
    load.assertAllIn(path)
    assert.ok(isIntact(path))
  }
})

test('a power cut leaves an index that continues by the log of the store, and searches find every plant', async (t) => {
  const library = forgetfulDisk(t)
  if (library === undefined) return notTestedHere(t, NOT_HERE)
  const { load, disk } = await cutPower(t, library, { after: 400, nameLength: 20, hasIndex: true })
  const path = join(disk, 'plants.db')
  const at = behind(path)
  assert.ok(at >= 0, `the index is ${-at} changes ahead`)
  const [oldest] = changesIn(path)
  const missing = Number(oldest?.position) - (oldest?.ids.length ?? 0) - (headOf(path) - at)
  assert.ok(missing <= 0, `the index lacks ${missing} changes that the log has no more`)
  await assertSearchable(path)
  load.assertAllIn(path)
})

test('the simulated power cut loses acknowledged plants of a store with synchronous=NORMAL', async (t) => {
  const library = forgetfulDisk(t)
  if (library === undefined) return notTestedHere(t, NOT_HERE)
  const script = `import { DatabaseSync } from 'node:sqlite'
    const { exec } = DatabaseSync.prototype
    DatabaseSync.prototype.exec = function (sql) {
      if (sql === 'BEGIN IMMEDIATE') exec.call(this, 'PRAGMA synchronous = NORMAL')
      return exec.call(this, sql)
    }`
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
  const { load, disk } = await cutPower(t, library, { after: 400, nameLength: 20, nodeArgs })
  await startServer(t, disk)
  assert.ok(load.countLost(join(disk, 'plants.db')) > 0, 'nothing was lost, so the simulation proves nothing')
})
