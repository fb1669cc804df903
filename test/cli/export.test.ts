import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { SqliteStore } from '../../src/sqlite/store.ts'
import { TESTER } from '../support/actor.ts'
import { cleanUp } from '../support/clean-up.ts'
import { command } from '../support/commands.ts'
import { tempFolder } from '../support/files.ts'
import { isRoot, notTestedHere } from '../support/not-tested.ts'
import { contentOf, KINDS, manyPlants, PLANTS, textOf } from '../support/plant-files.ts'
import { assertEnded, type Outcome, type ProgramOptions, run } from '../support/process.ts'
import { diskTest, fillDisk } from '../support/small-disk.ts'

interface Scene {
  readonly folder: string
  /** Runs `plantstore export` in the folder. */
  readonly exports: (args: readonly string[], options?: ProgramOptions) => Promise<Outcome>
  readonly read: (name: string) => string
}

/** A folder with a store of these plants in it. */
async function withPlants(t: TestContext, plants = PLANTS): Promise<Scene> {
  const folder = tempFolder(t)
  const options = { serving: false, create: true, maxWaiting: 1, onFatal: () => {} }
  const store = await SqliteStore.open(join(folder, 'plants.db'), options)
  await store.importPlants(plants, 'add', TESTER)
  await store.close()
  return {
    folder,
    exports: (args, options) => {
      const all = ['export', ...args, '--store', 'sqlite:plants.db']
      const isPlain = options === undefined && args[0] !== '-'
      return isPlain ? command(all, { cwd: folder }) : run(t, all, { cwd: folder, ...options })
    },
    read: (name) => contentOf(name, readFileSync(join(folder, name))),
  }
}

const formatOf = (name: string) => (name.includes('.csv') ? 'csv' : 'ndjson')

suite('plantstore export from a store', () => {
  for (const name of KINDS) {
    test(`writes ${name}, and exporting the imported file gives the same bytes`, async (t) => {
      const { folder, exports, read } = await withPlants(t)
      const { code, stdout, stderr } = await exports([name])
      // A slow machine has a line of progress before.
      assert.match(stderr, /^done: 7 plants in \d+\.\d s\n$/m)
      assert.deepEqual([code, stdout], [0, ''])
      assert.equal(read(name), textOf(formatOf(name), PLANTS))
      assert.equal((await command(['import', name, '--store', 'sqlite:other.db'], { cwd: folder })).code, 0)
      const again = ['export', `again.${name}`, '--store', 'sqlite:other.db']
      assert.equal((await command(again, { cwd: folder })).code, 0)
      assert.deepEqual(readFileSync(join(folder, `again.${name}`)), readFileSync(join(folder, name)))
    })
  }

  test('writes only the plants to standard output, in the given format', async (t) => {
    const { exports, read } = await withPlants(t)
    const { code, stdout } = await exports(['-', '--format', 'csv'])
    assert.deepEqual([code, stdout], [0, textOf('csv', PLANTS)])
    const packed = await exports(['-', '--format', 'ndjson', '--gzip'], {
      under: ['sh', '-c', '"$0" "$@" > out.ndjson.gz'],
    })
    assert.equal(packed.code, 0)
    assert.equal(read('out.ndjson.gz'), textOf('ndjson', PLANTS))
  })

  test('writes only the plants that match the filters, in the given order', async (t) => {
    const { exports, read } = await withPlants(t, [
      { id: 1n, name: 'Ölbaum', tag: 'tree' },
      { id: 2n, name: 'Ginkgo biloba', tag: 'tree' },
      { id: 3n, name: 'Olive, small', tag: 'shrub' },
      { id: 4n, name: 'Fern', tag: undefined },
    ])
    const ids = async (...args: string[]) => {
      assert.equal((await exports(['some.ndjson', '--force', ...args])).code, 0)
      return [...read('some.ndjson').matchAll(/"id":(\d+)/g)].map(([, id]) => id).join()
    }
    assert.equal(await ids('--tag', 'shrub', '--tag', 'tree', '--sort', '-id'), '3,2,1')
    assert.equal(await ids('--q', 'OLI small'), '3')
    assert.equal(await ids('--q', '!!!'), '')
    assert.equal(await ids('--q', ' '), '1,2,3,4')
    assert.equal(await ids('--sort', 'name'), '4,2,1,3')
  })

  test('exits with 141 if the reader of its standard output leaves before the end', async (t) => {
    const { exports } = await withPlants(t, manyPlants(20_000))
    const under = ['sh', '-c', '{ "$0" "$@"; echo "code $?" >&2; } | head -n 1']
    const { stdout, stderr } = await exports(['-', '--format', 'csv', '--quiet'], { under })
    assert.deepEqual([stdout, stderr], ['id,name,tag\r\n', 'code 141\n'])
    const told = await exports(['-', '--format', 'csv'], { under })
    const early = 'ended early: the reader closed standard output before all plants were written\n'
    assert.deepEqual([told.stdout, told.stderr], ['id,name,tag\r\n', `${early}code 141\n`])
  })

  test('exits with 1 and a message if standard output fails', async (t) => {
    if (!existsSync('/dev/full')) return notTestedHere(t, 'a standard output without space, as there is no /dev/full')
    const { exports } = await withPlants(t)
    const outcome = await exports(['-', '--format', 'csv'], { under: ['sh', '-c', '"$0" "$@" > /dev/full'] })
    assertEnded(outcome, 1, 'plantstore: standard output: no space is left on the device\n')
  })
})

suite('the file that plantstore export writes', () => {
  test('replaces an existing file only with --force, and then keeps a symbolic link to it', async (t) => {
    const { folder, exports, read } = await withPlants(t)
    writeFileSync(join(folder, 'plants.csv'), 'mine')
    symlinkSync('plants.csv', join(folder, 'link.csv'))
    for (const name of ['plants.csv', 'link.csv']) {
      assertEnded(await exports([name]), 1, `plantstore: ${name}: already exists; --force replaces it\n`)
    }
    assert.equal(read('plants.csv'), 'mine')
    assert.equal((await exports(['link.csv', '--force'])).code, 0)
    assert.ok(lstatSync(join(folder, 'link.csv')).isSymbolicLink())
    assert.equal(read('plants.csv'), textOf('csv', PLANTS))
  })

  test('is readable by its owner alone, even if it replaces a public file', async (t) => {
    const { folder, exports } = await withPlants(t)
    writeFileSync(join(folder, 'old.csv'), 'mine', { mode: 0o644 })
    for (const name of ['new.ndjson.gz', 'old.csv']) {
      const umask = ['sh', '-c', 'umask 0; exec "$0" "$@"']
      assert.equal((await exports([name, '--force'], { under: umask })).code, 0)
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name)
    }
  })

  test('never replaces a device, a folder or a pipe, nor links that form a loop', async (t) => {
    const { folder, exports } = await withPlants(t)
    mkdirSync(join(folder, 'folder.csv'))
    for (const name of ['folder.csv', '/dev/null']) {
      const outcome = await exports([name, '--format', 'csv', '--force'])
      assertEnded(outcome, 1, `plantstore: ${name}: is not a file; use - for standard output\n`)
    }
    assert.ok(lstatSync('/dev/null').isCharacterDevice())
    symlinkSync('loop.csv', join(folder, 'loop.csv'))
    const { code, stderr } = await exports(['loop.csv', '--force'])
    assert.deepEqual([code, stderr], [1, 'plantstore: loop.csv: its symbolic links form a loop\n'])
  })

  test('never replaces a store or a file beside a store, even with --force', async (t) => {
    const { folder, exports } = await withPlants(t)
    const other = new DatabaseSync(join(folder, 'other.db'))
    cleanUp(t, () => other.close())
    other.exec('PRAGMA journal_mode = WAL; CREATE TABLE kept (value); INSERT INTO kept VALUES (1)')
    symlinkSync('other.db', join(folder, 'link.db'))
    linkSync(join(folder, 'other.db'), join(folder, 'second-name.db'))
    const names = ['other.db', 'link.db', 'second-name.db', 'other.db-wal']
    const before = names.map((name) => readFileSync(join(folder, name)))
    for (const name of names) {
      const why = 'is a SQLite database, such as a store; choose another file, or move it away first'
      assertEnded(await exports([name, '--format', 'csv', '--force']), 1, `plantstore: ${name}: ${why}\n`)
    }
    const found = names.map((name) => readFileSync(join(folder, name)))
    assert.deepEqual(found, before)
  })

  test('never takes a name of its own store, even if no file has that name yet', async (t) => {
    const { folder, exports } = await withPlants(t)
    const before = readdirSync(folder)
    for (const name of ['plants.db', './plants.db-index', 'plants.db-journal', join(folder, 'plants.db.first-token')]) {
      const why = 'is a file of the store; choose another file'
      assertEnded(await exports([name, '--format', 'csv', '--force']), 1, `plantstore: ${name}: ${why}\n`)
    }
    assert.deepEqual(readdirSync(folder), before)
  })

  test('is removed if it cannot be written, and the command says why', async (t) => {
    const { folder, exports } = await withPlants(t)
    const before = readdirSync(folder)
    const outcome = await exports(['nowhere/plants.csv'])
    assertEnded(outcome, 1, 'plantstore: nowhere/plants.csv: there is no such file or folder\n')
    assert.deepEqual(readdirSync(folder), before)
    mkdirSync(join(folder, 'locked'))
    chmodSync(join(folder, 'locked'), 0o500)
    cleanUp(t, () => chmodSync(join(folder, 'locked'), 0o700))
    // Root may write all without this.
    const under = isRoot ? ['setpriv', '--bounding-set=-dac_override'] : undefined
    assert.match((await exports(['locked/plants.csv'], under && { under })).stderr, /permission denied/)
  })

  diskTest('is removed when the disk is full, and the command says so', async (t, disk) => {
    const { exports } = await withPlants(t, manyPlants(20_000))
    fillDisk(disk)
    const outcome = await exports([join(disk, 'plants.csv')])
    // A slow machine has a line of progress before.
    assertEnded(outcome, 1, new RegExp(`^plantstore: ${disk}/plants\\.csv: no space is left on the device$`, 'm'))
    assert.deepEqual(readdirSync(disk), ['ballast'])
  })

  test('is not written if there is no store, and the command creates none', async (t) => {
    const folder = tempFolder(t)
    assertEnded(await command(['export', 'plants.csv'], { cwd: folder }), 1, /^plantstore: store /)
    assert.deepEqual(readdirSync(folder), [])
  })
})
