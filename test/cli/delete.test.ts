import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { command } from '../support/commands.ts'
import { plantsIn, tempFolder } from '../support/files.ts'
import { notTestedHere } from '../support/not-tested.ts'
import { PLANTS, writePlantFile } from '../support/plant-files.ts'
import { Program, run, startServer, TOKEN } from '../support/process.ts'
import { hasTerminal, ON_TERMINAL } from '../support/terminal.ts'

const env = { PLANTSTORE_TOKEN: TOKEN }
const TAGGED = PLANTS.filter(({ tag }) => tag === 'tree')

async function filled(t: TestContext) {
  const folder = tempFolder(t)
  const server = await startServer(t, folder)
  writePlantFile(join(folder, 'plants.csv'), PLANTS)
  await command(['import', 'plants.csv', '--url', server.address], { cwd: folder, env })
  return {
    ...server,
    folder,
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

  test('asks on a terminal, and deletes nothing without a yes', async (t) => {
    if (!hasTerminal) return notTestedHere(t, 'the question of plantstore delete, as there is no command script')
    const { storePath, ways } = await filled(t)
    const answered = async (answer: string) => {
      const args = ['delete', '--tag', 'tree', ...ways.http]
      const program = new Program(t, args, { env, under: ON_TERMINAL, hasInput: true })
      await program.says((stdout) => (stdout.includes('[y/N]') ? true : undefined))
      program.child.stdin?.write(answer)
      return program.outcome
    }
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
