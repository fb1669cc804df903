import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { command } from '../support/commands.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'
import { plantsIn, tempFolder } from '../support/files.ts'
import { contentOf, manyPlants, PLANTS, textOf, writePlantFile } from '../support/plant-files.ts'
import { newDatabase } from '../support/postgres.ts'
import { assertEnded, Program, run, startServer, TOKEN } from '../support/process.ts'
import { until } from '../support/until.ts'
import { servedEmpty } from './support.ts'

const env = { PLANTSTORE_TOKEN: TOKEN }
/** More plants than one request of an import sends. */
const MANY = manyPlants(12_000)

suite('plantstore import and export through a service', () => {
  // test/cli/export.test.ts tests the other kinds of files, with the same code.
  test('take gzipped NDJSON and CSV, and give back the same bytes', async (t) => {
    for (const name of ['plants.jsonl.gz', 'plants.csv']) {
      const { folder, address, storePath } = await servedEmpty(t)
      writePlantFile(join(folder, name), PLANTS)
      const imported = await command(['import', name, '--url', address], { cwd: folder, env })
      assert.match(imported.stderr, /^done: 7 added, 0 updated, 0 unchanged, 0 refused; /)
      assert.deepEqual([imported.code, imported.stdout], [0, ''])
      const exported = await command(['export', `again.${name}`, '--url', address], { cwd: folder, env })
      assert.match(exported.stderr, /^done: 7 plants in /)
      assert.deepEqual([exported.code, exported.stdout], [0, ''])
      const again = readFileSync(join(folder, `again.${name}`))
      assert.equal(contentOf(name, again), contentOf(name, readFileSync(join(folder, name))))
      const straight = ['export', `straight.${name}`, '--store', `sqlite:${storePath}`]
      assert.equal((await command(straight, { cwd: folder })).code, 0)
      assert.deepEqual(again, readFileSync(join(folder, `straight.${name}`)))
    }
  })

  test('name refused rows by their lines, whether the command or the service refused them', async (t) => {
    const { folder, address } = await servedEmpty(t)
    const path = join(folder, 'plants.csv')
    const rows = ['id,name,tag', '1,a,', '', 'x,b,', '2,"two', 'lines",', '1,c,', '3', '4,d,']
    writeFileSync(path, rows.join('\n'))
    for (const flags of [['--dry-run'], []]) {
      const { code, stderr } = await command(['import', path, '--url', address, ...flags], { env })
      assert.deepEqual(stderr.match(/^line \d+: error \d+/gm), [
        'line 4: error 40002',
        'line 7: error 40901',
        'line 8: error 40002',
      ])
      assert.match(stderr, /: 3 added, 0 updated, 0 unchanged, 3 refused; 6 rows in/)
      assert.equal(code, 1)
    }
  })

  test('export only the plants that match the filters', async (t) => {
    const { folder, address } = await servedEmpty(t)
    writePlantFile(join(folder, 'plants.csv'), PLANTS)
    await command(['import', 'plants.csv', '--url', address], { cwd: folder, env })
    const args = ['--tag', 'tree', '--tag', 'fern', '--sort', '-id', '--q', 'gink', '--url', address]
    const { stdout } = await run(t, ['export', '-', '--format', 'csv', ...args], { env })
    assert.equal(stdout, 'id,name,tag\r\n7,Ginkgo 🌿 銀杏,tree\r\n')
  })

  test('import in the given mode, and store nothing with --dry-run', async (t) => {
    const { folder, address, storePath } = await servedEmpty(t)
    const path = join(folder, 'plants.ndjson')
    const imports = async (...flags: string[]) =>
      (await command(['import', path, '--url', address, ...flags], { env })).stderr
    writePlantFile(path, MANY)
    assert.match(await imports('--dry-run'), /^dry run, nothing was stored: 12,000 added,/m)
    assert.equal(plantsIn(storePath).size, 0)
    assert.match(await imports(), /^done: 12,000 added,/m)
    const changed = MANY.slice(0, 10).map((plant) => ({ ...plant, name: 'changed' }))
    writePlantFile(path, changed)
    assert.match(await imports('--mode', 'update', '--dry-run'), /: 0 added, 10 updated,/)
    assert.match(await imports('--mode', 'update'), /^done: 0 added, 10 updated,/)
    assert.equal(plantsIn(storePath).get(9n)?.name, 'changed')
  })
})

suite('plantstore import and export say what is wrong if', () => {
  const IMPORT = ['import', 'plants.csv']
  const EXPORT = ['export', 'out.csv']

  test('the token is wrong or lacks a scope', async (t) => {
    const { folder, address, storePath } = await servedEmpty(t)
    writePlantFile(join(folder, 'plants.csv'), MANY)
    const make = ['token', 'create', '--name', 'x', '--scopes', 'tokens', '--store', `sqlite:${storePath}`]
    const weak = (await command(make)).stdout.trim()
    for (const args of [IMPORT, [...IMPORT, '--dry-run'], EXPORT]) {
      for (const [token, says] of [
        ['wrong-token-0123456789', /answered 401: error 40102: /],
        [weak, /answered 403: error 40301: /],
      ] as const) {
        const options = { cwd: folder, env: { PLANTSTORE_TOKEN: token } }
        const { code, stdout, stderr } = await command([...args, '--url', address], options)
        assert.match(stderr, says, args.join(' '))
        assert.ok(!stderr.includes(token), 'the output shows the token')
        assert.deepEqual([code, stdout], [1, ''])
      }
    }
    assert.ok(!existsSync(join(folder, 'out.csv')))
  })

  test('no token is given, or nothing answers', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.csv'), PLANTS)
    for (const args of [IMPORT, EXPORT]) {
      const bare = await command([...args, '--url', 'http://127.0.0.1:1'], { cwd: folder })
      assertEnded(bare, 2, 'plantstore: --url: set PLANTSTORE_TOKEN to an access token of the service\n')
      for (const [address, says] of [
        [
          'http://127.0.0.1:1',
          /^plantstore: http:\/\/127\.0\.0\.1:1\/: nothing answers there; is the service running\?\n$/,
        ],
        ['http://nowhere.invalid', /no host has this name|cannot be resolved at the moment/],
      ] as const) {
        const { code, stderr } = await command([...args, '--url', address], { cwd: folder, env })
        assert.match(stderr, says)
        assert.equal(code, 1)
      }
    }
    assert.deepEqual(readdirSync(folder), ['plants.csv'])
  })
})

suite('over a failing network', () => {
  test('an import continues once a killed service is back', async (t) => {
    const folder = tempFolder(t)
    const { address, program, storePath } = await startServer(t, folder)
    const args = ['import', '-', '--format', 'ndjson', '--url', address]
    const importing = new Program(t, args, { env, hasInput: true })
    const text = textOf('ndjson', MANY)
    importing.child.stdin?.write(text.slice(0, text.length / 2))
    while (plantsIn(storePath).size === 0)
      await once(importing.child, 'spawn', { signal: AbortSignal.timeout(20) }).catch(() => {})
    await program.kill()
    importing.child.stdin?.end(text.slice(text.length / 2))
    await importing.tells(/retrying for 5m/)
    await startServer(t, folder, ['--port', new URL(address).port])
    const { code, stderr } = await importing.outcome
    assert.equal(code, 0, stderr)
    assert.equal(plantsIn(storePath).size, MANY.length)
  })

  test('an import gives up after --retry-time, says how far it got, and the same command completes it', async (t) => {
    const { folder, address, storePath } = await servedEmpty(t)
    writePlantFile(join(folder, 'plants.ndjson'), MANY)
    const proxy = await cuttingProxy(t, address, { sent: 400_000 })
    const args = ['import', 'plants.ndjson', '--retry-time', '0s', '--url']
    const first = await command([...args, proxy.address], { cwd: folder, env })
    const said = /^interrupted: [\d,]+ added, 0 updated, 0 unchanged, 0 refused; /m
    assertEnded(first, 1, said, /^plantstore: http:\S+: the connection broke/m)
    assert.ok(plantsIn(storePath).size > 0)
    const second = await command([...args, address], { cwd: folder, env })
    assertEnded(second, 0, /^done: .* 0 refused; 12,000 rows/m)
    assert.equal(plantsIn(storePath).size, MANY.length)
  })

  test('an interrupted export fails, a stopped one ends, and neither leaves a file', async (t) => {
    const { folder, address, storePath } = await servedEmpty(t)
    writePlantFile(join(folder, 'plants.ndjson'), MANY)
    await command(['import', 'plants.ndjson', '--store', `sqlite:${storePath}`], { cwd: folder })
    const cutting = await cuttingProxy(t, address, { received: 100_000 })
    const before = readdirSync(folder)
    for (const name of ['a.csv', 'a.csv.gz', '-']) {
      const args = ['export', name, '--format', 'csv', '--url', cutting.address]
      assertEnded(await run(t, args, { cwd: folder, env }), 1, /^plantstore: http:\S+: the connection broke \(.*\)\n$/)
    }
    assert.deepEqual(readdirSync(folder), before)
    const proxy = await cuttingProxy(t, address, { received: 300_000, holds: true })
    for (const [signal, exitCode] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const program = new Program(t, ['export', 'a.csv', '--url', proxy.address], { cwd: folder, env })
      await proxy.held
      await until(() => readdirSync(folder).some((name) => name.startsWith('a.csv.new-')), 'the export makes no file')
      program.signal(signal)
      assertEnded(await program.outcome, exitCode, `stopped; no file was written\n`)
      assert.deepEqual(readdirSync(folder), before)
    }
  })
})

test('a dry run creates no tables in a database without a store', async (t) => {
  const folder = tempFolder(t)
  const database = await newDatabase(t)
  writePlantFile(join(folder, 'plants.csv'), PLANTS)
  const args = ['import', 'plants.csv', '--dry-run', '--store', database]
  assertEnded(await command(args, { cwd: folder }), 1, /^plantstore: .*it does not exist\n$/)
})
