import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { command } from '../support/commands.ts'
import { plantsIn } from '../support/files.ts'
import { PLANTS, writePlantFile } from '../support/plant-files.ts'
import { assertEnded, run, TOKEN } from '../support/process.ts'
import { answering, terminalTest } from '../support/terminal.ts'
import { servedEmpty } from './support.ts'

const env = { PLANTSTORE_TOKEN: TOKEN }
const TAGGED = PLANTS.filter(({ tag }) => tag === 'tree')

async function filled(t: TestContext) {
  const server = await servedEmpty(t)
  writePlantFile(join(server.folder, 'plants.csv'), PLANTS)
  await command(['import', 'plants.csv', '--url', server.address], { cwd: server.folder, env })
  return {
    ...server,
    ways: { http: ['--url', server.address], file: ['--store', `sqlite:${server.storePath}`] },
  }
}

suite('plantstore delete', () => {
  for (const way of ['http', 'file'] as const) {
    test(`counts and deletes the plants of its filters, and no others, by ${way}`, async (t) => {
      const { folder, storePath, ways } = await filled(t)
      const all = plantsIn(storePath).size
      // A command removes its files at the end of its process.
      const deleting = (...flags: string[]) =>
        run(t, ['delete', ...flags, ...ways[way]], { env: { ...env, TMPDIR: folder } })
      const dry = await deleting('--tag', 'tree', '--dry-run')
      assert.match(dry.stderr, new RegExp(`^dry run, nothing was stored: .*${TAGGED.length} deleted, 0 refused`))
      assert.equal(plantsIn(storePath).size, all)
      const { code, stderr } = await deleting('--tag', 'tree', '--yes')
      assert.match(stderr, new RegExp(`^done: .*${TAGGED.length} deleted, 0 refused`))
      assert.equal(code, 0)
      assert.equal(plantsIn(storePath).size, all - TAGGED.length)
      const none = await deleting('--tag', 'tree', '--q', 'x', '--yes', '--json')
      assert.equal(JSON.parse(none.stdout).deleted, 0)
      const found = readdirSync(folder).filter((name) => name.startsWith('plantstore-delete'))
      assert.deepEqual(found, [])
    })
  }

  terminalTest('asks on a terminal, and deletes nothing without a yes', async (t) => {
    const { storePath, ways } = await filled(t)
    const answered = (answer: string) => answering(t, ['delete', '--tag', 'tree', ...ways.http], [answer], { env })
    const all = plantsIn(storePath).size
    const no = await answered('n\n')
    assert.match(no.stdout, new RegExp(`Delete ${TAGGED.length} plants\\? \\[y/N\\]`))
    assert.match(no.stdout, /nothing was deleted/)
    assert.equal(plantsIn(storePath).size, all)
    assert.match((await answered('y\n')).stdout, /deleted, 0 refused/)
    assert.equal(plantsIn(storePath).size, all - TAGGED.length)
  })

  test('is refused without a filter, or without a yes where no terminal can ask', async (t) => {
    const { storePath, ways } = await filled(t)
    const all = plantsIn(storePath).size
    for (const [flags, fault] of [
      [['--yes'], '--q: say which plants to delete'],
      [['--q', ' ', '--yes'], '--q: say which plants to delete'],
      [['--tag', 'tree'], '--yes: needed to delete plants where no terminal can ask'],
    ] as const) {
      const { code, stderr } = await command(['delete', ...flags, ...ways.http], { env })
      assert.equal(code, 2)
      assert.ok(stderr.includes(fault), stderr)
      assert.equal(plantsIn(storePath).size, all)
    }
  })
})

async function imported(t: TestContext, way: 'a service' | 'a store') {
  const { folder, address, storePath } = await servedEmpty(t)
  const file = join(folder, 'Liste größer.csv')
  writeFileSync(file, 'id,name\n1,Aloe\n2,Fern\n3,Moss\n')
  const to = way === 'a service' ? ['--url', address] : ['--store', `sqlite:${storePath}`]
  const call = (...args: string[]) => command([...args, ...to], { env })
  const { stderr } = await call('import', file)
  const id = /^To take it back: plantstore undo (\S+)$/m.exec(stderr)?.[1] ?? assert.fail(stderr)
  return { call, id, storePath, address }
}

suite('plantstore actions and undo', () => {
  for (const way of ['a service', 'a store'] as const) {
    test(`list an import of ${way} by the name of its file, and take it back, and that too`, async (t) => {
      const { call, id, storePath } = await imported(t, way)
      const listed = await call('actions')
      assert.match(listed.stdout, new RegExp(`^${id}  \\S+Z  Liste größer\\.csv  3 +0 +0 `, 'm'))
      const [action] = JSON.parse((await call('actions', '--limit', '1', '--json')).stdout)
      assert.deepEqual([action.id, action.title, action.created], [id, 'Liste größer.csv', 3])

      const dry = await call('undo', id, '--dry-run')
      assert.match(dry.stderr, /^dry run, nothing was changed: 3 plants as before/)
      assert.equal(plantsIn(storePath).size, 3)
      const done = await call('undo', id, '--yes')
      assert.deepEqual([done.code, plantsIn(storePath).size], [0, 0], done.stderr)
      const back = /^To take it back: plantstore undo (\S+)$/m.exec(done.stderr)?.[1] ?? assert.fail(done.stderr)
      const redone = await call('undo', back, '--yes', '--json')
      assert.deepEqual([redone.code, JSON.parse(redone.stdout).restored, plantsIn(storePath).size], [0, 3, 3])
    })
  }

  test('name the plants that stay, and end with 1', async (t) => {
    const { call, id, address, storePath } = await imported(t, 'a service')
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
    await fetch(`${address}/plants/2`, { method: 'PUT', headers, body: '{"name":"Tree fern"}' })
    const left = /^left, because something else has changed it since: the plant 2$/m
    assertEnded(await call('undo', id, '--yes'), 1, /2 plants as before .*, 1 left$/m, left)
    assert.deepEqual([...plantsIn(storePath).keys()].map(Number), [2])
  })

  terminalTest('show no control characters of a title, which others have chosen', async (t) => {
    const { call, address } = await imported(t, 'a service')
    const title = { 'Plantstore-Action': 'odd', 'Plantstore-Action-Title': 'a%1B%5B31mb%0Ac%E2%80%AEd' }
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...title }
    await fetch(`${address}/plants`, { method: 'POST', headers, body: '{"id":4,"name":"x"}' })
    const shown = 'a\\u{1b}[31mb c\\u{202e}d'
    assert.ok((await call('actions')).stdout.includes(`Z  ${shown}  1 `))
    const { stdout } = await answering(t, ['undo', 'odd', '--url', address], ['n\n'], { env })
    assert.ok(stdout.includes(`Undo odd (${shown}): 1 plant as before`))
  })

  test('refuse an unknown action, and to ask where nobody can answer', async (t) => {
    const { call, id, storePath } = await imported(t, 'a store')
    const unknown = await call('undo', 'none', '--yes')
    assertEnded(unknown, 1, 'plantstore: there is no action none; "plantstore actions" lists them\n')
    const ofService = await imported(t, 'a service')
    // As a part of a path, these would be other paths.
    for (const text of ['', '.', '..', '../x']) {
      const wrong = await ofService.call('undo', text, '--yes')
      assert.match(wrong.stderr, /^plantstore: there is no action .*; "plantstore actions" lists them\n$/)
    }
    const asked = await call('undo', id)
    assertEnded(asked, 2, /--yes: needed to undo an action where no terminal can ask/)
    assert.equal((await call('actions', '--limit', '0')).code, 2)
    assert.equal(plantsIn(storePath).size, 3)
  })
})
