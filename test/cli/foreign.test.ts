import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { command } from '../support/commands.ts'
import { tempFolder } from '../support/files.ts'
import { manyPlants, PLANTS, writePlantFile } from '../support/plant-files.ts'
import { FOREIGN, type Foreign, Portal } from '../support/portal.ts'
import { Program, TOKEN } from '../support/process.ts'
import { SECRET, withService } from '../support/service.ts'

const env = { PLANTSTORE_TOKEN: TOKEN }

suite('a command through a service', () => {
  test('succeeds by no answer of another program, prints none of it, and says why', async (t) => {
    const portal = await Portal.start(t)
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.csv'), PLANTS)
    const id = 'whk_4bXm09TzQ1r'
    const lines = [
      ['import', 'plants.csv', '--retry-time', '0s'],
      ['import', 'plants.csv', '--dry-run'],
      ['export', 'all.csv'],
      ['delete', '--tag', 'x', '--yes', '--retry-time', '0s'],
      ['webhook', 'list'],
      ['webhook', 'test', id],
    ]
    for (const [name, foreign] of Object.entries(FOREIGN).filter(([, { status }]) => status !== 502)) {
      portal.answer = foreign
      for (const line of lines) {
        const { code, stdout, stderr } = await command([...line, '--url', portal.address], { cwd: folder, env })
        assert.deepEqual([code, stdout], [1, ''], `${name}: ${line.join(' ')}: ${stderr}`)
        assert.match(stderr, /it is not a Plantstore service; is the address right\?/, `${name}: ${line.join(' ')}`)
      }
      assert.ok(!existsSync(join(folder, 'all.csv')), name)
    }
  })

  test('waits for a service that it has reached, while a network asks for a sign-in, and stores each plant', async (t) => {
    const service = await withService(t)
    const portal = await Portal.start(t, service.port)
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.csv'), manyPlants(12_000))
    let imports = 0
    portal.holdsUp = (_method, path) => path.startsWith('/plants/import') && [2, 3].includes(++imports)
    for (const name of ['a portal with a page and 200', 'a redirect to a portal'] as const) {
      imports = 0
      portal.answer = FOREIGN[name] as Foreign
      const env = { PLANTSTORE_TOKEN: SECRET }
      const { code, stderr } = await command(['import', 'plants.csv', '--url', portal.address], { cwd: folder, env })
      assert.equal(code, 0, stderr)
      assert.match(stderr, /it is not a Plantstore service; is the address right\?; retrying for 5m/)
      assert.equal((await service.plants()).length, 12_000)
    }
  })
})

test('plantstore mcp passes no answer of another program on, and answers each request by an error', async (t) => {
  const portal = await Portal.start(t)
  const program = new Program(t, ['mcp', '--url', portal.address], { env, hasInput: true })
  for (const [i, [name, foreign]] of Object.entries(FOREIGN).entries()) {
    portal.answer = foreign
    program.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: i, method: 'ping' })}\n`)
    const answers = await program.says((stdout) => (stdout.split('\n').length > i + 1 ? stdout : undefined))
    const answer = answers.split('\n')[i] ?? ''
    const { id, error } = JSON.parse(answer) as { id: number; error: { code: number; message: string } }
    // What sends the body back answers by the message, which is no answer to it.
    assert.deepEqual([id, error.code], [i, -32000], name)
    assert.match(error.message, /it is not a Plantstore service; is the address right\?$/, name)
  }
  program.child.stdin?.end()
  assert.equal((await program.outcome).code, 0)
})
