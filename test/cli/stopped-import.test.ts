import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isIntact, plantsIn, tempFolder } from '../support/files.ts'
import { manyPlants, textOf } from '../support/plant-files.ts'
import { assertEnded, Program, run, startServer, TOKEN } from '../support/process.ts'
import { until } from '../support/until.ts'

/** More plants than an import reads before it stores some. */
const PLANTS = manyPlants(20_000)
const TEXT = textOf('ndjson', PLANTS)

/** Waits until a store has plants. @returns their number */
async function stored(path: string): Promise<number> {
  let count = 0
  const hasSome = () => {
    count = existsSync(path) ? plantsIn(path).size : 0
    return count > 0
  }
  await until(hasSome, 'the import stores nothing')
  return count
}

for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} stops an import, which says what is stored and exits with ${exitCode}`, async (t) => {
    const folder = tempFolder(t)
    const path = join(folder, 'plants.db')
    const args = ['import', '-', '--format', 'ndjson', '--store', `sqlite:${path}`]
    const program = new Program(t, args, { hasInput: true })
    // The input stays open, so the command waits for more.
    program.child.stdin?.write(TEXT)
    await stored(path)
    program.signal(signal)
    const { code, stderr } = await program.outcome
    const added = plantsIn(path).size
    assert.match(stderr, /^interrupted: ([\d,]+) added, 0 updated, 0 unchanged, 0 refused;/m)
    assert.equal(Number(/([\d,]+) added/.exec(stderr)?.[1]?.replaceAll(',', '')), added)
    assert.match(stderr, /^Run the same command again to continue/m)
    assert.equal(code, exitCode)
    assert.ok(isIntact(path))
    writeFileSync(join(folder, 'plants.ndjson'), TEXT)
    const again = await run(t, ['import', join(folder, 'plants.ndjson'), '--store', `sqlite:${path}`])
    const [total, before] = [PLANTS.length, added].map((number) => number.toLocaleString('en-US'))
    const rest = (PLANTS.length - added).toLocaleString('en-US')
    assert.match(again.stderr, new RegExp(`: ${rest} added, 0 updated, ${before} unchanged, 0 refused; ${total} rows`))
    assert.equal(again.code, 0)
    assert.equal(plantsIn(path).size, PLANTS.length)
  })
}

for (const target of ['a store', 'a service'] as const) {
  test(`SIGINT stops an import into ${target} while it has rows to read`, async (t) => {
    const folder = tempFolder(t)
    const file = join(folder, 'plants.ndjson')
    const many = manyPlants(300_000)
    writeFileSync(file, textOf('ndjson', many))
    const path = join(folder, 'plants.db')
    const to = target === 'a store' ? ['--store', `sqlite:${path}`] : ['--url', (await startServer(t, folder)).address]
    const program = new Program(t, ['import', file, ...to], { env: { PLANTSTORE_TOKEN: TOKEN } })
    await stored(path)
    program.signal('SIGINT')
    const { code, stderr } = await program.outcome
    const added = Number(/^interrupted: ([\d,]+) added/m.exec(stderr)?.[1]?.replaceAll(',', ''))
    assert.equal(code, 130)
    assert.ok(added < many.length, stderr)
    assert.equal(plantsIn(path).size, added)
  })
}

test('SIGINT stops an import that still waits for its first input', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  const args = ['import', '-', '--format', 'ndjson', '--store', `sqlite:${path}`]
  const program = new Program(t, args, { hasInput: true })
  await until(() => existsSync(path), 'the import makes no store')
  program.signal('SIGINT')
  assertEnded(await program.outcome, 130, /^interrupted: 0 added, 0 updated, 0 unchanged, 0 refused;/m)
})

test('a killed import leaves an intact store, and can be repeated', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  const program = new Program(t, ['import', '-', '--format', 'ndjson', '--store', `sqlite:${path}`], { hasInput: true })
  program.child.stdin?.write(TEXT)
  const count = await stored(path)
  await program.kill()
  assert.ok(isIntact(path))
  assert.ok(plantsIn(path).size >= count)
  writeFileSync(join(folder, 'plants.ndjson'), TEXT)
  assert.equal((await run(t, ['import', join(folder, 'plants.ndjson'), '--store', `sqlite:${path}`])).code, 0)
  assert.equal(plantsIn(path).size, PLANTS.length)
})

test('the same command adds every pot of a sheet without ids, also where a part was stored before', async (t) => {
  const folder = tempFolder(t)
  const [file, path] = [join(folder, 'pots.csv'), join(folder, 'plants.db')]
  // More than one group, to whose rows ids are assigned at once: it ends after 8 MiB of texts.
  const pots = 10_000
  const row = (_: unknown, i: number) => `Fern ${i % 1000} ${'x'.repeat(980)},bed\n`
  writeFileSync(file, `Botanical name,Bed\n${Array.from({ length: pots }, row).join('')}`)
  const args = ['import', file, '--columns', 'name=Botanical name,tag=Bed', '--store', `sqlite:${path}`]
  const program = new Program(t, args)
  await stored(path)
  program.signal('SIGINT')
  await program.outcome
  for (let i = 0; i < 2; i++) {
    const { code, stderr } = await run(t, args)
    assert.equal(code, 0, stderr)
    assert.equal(plantsIn(path).size, pots)
  }
})
