import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { PlantstoreClient } from '../../client/src/index.ts'
import { command } from '../support/commands.ts'
import { tempFolder } from '../support/files.ts'
import { PathProxy } from '../support/path-proxy.ts'
import { manyPlants, PLANTS, writePlantFile } from '../support/plant-files.ts'
import { FOREIGN, type Foreign, Portal } from '../support/portal.ts'
import { assertEnded, Program, run, TOKEN } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { SECRET, withService } from '../support/service.ts'
import { createdWebhook, LOCAL } from '../support/webhooks.ts'

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
      const outcome = await command(['import', 'plants.csv', '--url', portal.address], { cwd: folder, env })
      assertEnded(outcome, 0, /it is not a Plantstore service; is the address right\?; retrying for 5m/)
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

const FILE = '{"id":1,"name":"Rosa"}\n{"id":2,"name":"Lilium","tag":"bed"}\n'

for (const strips of [true, false]) {
  suite(`below a path of a proxy that ${strips ? 'takes it off' : 'leaves it'},`, () => {
    test('commands and the client work with the address of the service', async (t) => {
      const proxy = await PathProxy.start(t, strips)
      const url = `${proxy.origin}/garden`
      const service = await withService(t, { publicUrl: url })
      proxy.ports.set('/garden', service.port)
      const cwd = tempFolder(t)
      const env = { PLANTSTORE_TOKEN: SECRET }
      writeFileSync(join(cwd, 'plants.ndjson'), FILE)
      const imported = await command(['import', 'plants.ndjson', '--url', url], { cwd, env })
      assert.match(imported.stderr, /^done: 2 added, /)
      const exported = await command(['export', 'again.ndjson', '--url', `${url}/`], { cwd, env })
      assert.match(exported.stderr, /^done: 2 plants in /)
      assert.equal(readFileSync(join(cwd, 'again.ndjson'), 'utf8'), FILE)
      const status = await command(['status', '--url', url], { cwd, env })
      assert.equal(status.code, 0, status.stderr)

      const client = new PlantstoreClient({ url, token: SECRET })
      await client.createPlant({ id: 3n, name: 'Iris' })
      const names: string[] = []
      for await (const { name } of client.listPlants({ limit: 1 })) names.push(name)
      assert.deepEqual(names, ['Rosa', 'Lilium', 'Iris'])
      const { value: change } = await client.history(3n)[Symbol.asyncIterator]().next()
      assert.deepEqual([change?.type, change?.plant?.name], ['plant.created', 'Iris'])
    })
  })
}

test('webhook list and webhook test show the webhooks of a service, and what a receiver answers', async (t) => {
  const service = await withService(t, LOCAL)
  const receiver = await startReceiver(t)
  const { id } = await createdWebhook(service, { url: receiver.url })
  const env = { PLANTSTORE_TOKEN: SECRET }
  const url = ['--url', `http://127.0.0.1:${service.port}`]
  const list = await command(['webhook', 'list', ...url], { env })
  assert.equal(list.code, 0, list.stderr)
  const [head = '', row = ''] = list.stdout.split('\n')
  assert.match(head, /^ID +STATE +SINCE +PENDING +URL$/)
  assert.match(row, new RegExp(`^${id} +active +\\d{4}-\\S+Z +0 +${receiver.url}$`))
  const json = await command(['webhook', 'list', '--json', ...url], { env })
  assert.equal((JSON.parse(json.stdout) as { id: string }[])[0]?.id, id)
  const tested = await command(['webhook', 'test', id, ...url], { env })
  assert.equal(tested.code, 0, tested.stderr)
  assert.match(tested.stdout, /^The receiver answered 204 after \d+ ms\.\n$/)
  await receiver.stop()
  const failed = await command(['webhook', 'test', id, ...url], { env })
  assert.equal(failed.code, 1)
  assert.match(failed.stdout, /^The test failed after \d+ ms: nothing answers at this address\.\n$/)
  const absent = await command(['webhook', 'test', 'whk_00000000000', ...url], { env })
  assertEnded(absent, 1, /error 40402: there is no webhook/)
  const without = await run(t, ['webhook', 'list'])
  assertEnded(without, 2, /--url: give the address of the service/)
})
