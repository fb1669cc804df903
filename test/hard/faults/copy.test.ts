import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withStore } from '../../../src/cli/open-store.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { TESTER } from '../../support/actor.ts'
import { plantsIn, tempFolder } from '../../support/files.ts'
import { notTestedHere } from '../../support/not-tested.ts'
import { run } from '../../support/process.ts'
import { fillDisk, NO_DISK, smallDisk } from '../../support/small-disk.ts'
import { plant } from '../../support/store-under-test.ts'

test('a copy to a full disk says so and leaves an intact store, and repeating it completes it', async (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return notTestedHere(t, `a copy to a full disk, ${NO_DISK}`)
  const [from, to] = [join(tempFolder(t), 'plants.db'), join(disk, 'plants.db')]
  const source = readConfig({ store: `sqlite:${from}` }, {}).store
  const plants = Array.from({ length: 3000 }, (_, i) => plant(BigInt(i), 'x'.repeat(1000)))
  await withStore(source, { create: true, quiet: true }, (store) => store.importPlants(plants, 'add', TESTER))
  const copy = () => run(t, ['copy', '--from', `sqlite:${from}`, '--to', `sqlite:${to}`])
  // Creates the target store first, then leaves half of the space that the copy needs.
  assert.equal((await run(t, ['token', 'create', '--name', 'x', '--store', `sqlite:${to}`])).code, 0)
  fillDisk(disk, 'ballast', 3 * 2 ** 20)
  const full = await copy()
  assert.match(full.stderr, /^plantstore: the store has no space left/m)
  assert.match(full.stderr, /^Run the same command again to continue/m)
  assert.equal(full.code, 1)
  const there = plantsIn(to).size
  assert.ok(there < plants.length, String(there))
  rmSync(join(disk, 'ballast'))
  const again = await copy()
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stderr, new RegExp(`^done: ${(plants.length - there).toLocaleString('en')} plants added, `, 'm'))
  assert.equal(plantsIn(to).size, plants.length)
})
