import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { executable } from '../../../scripts/package/executable.ts'
import { ROOT } from '../../../scripts/repository.ts'
import { tempFolder } from '../../support/files.ts'
import { newDatabase } from '../../support/postgres.ts'
import { callsService, createsPlant, TELL } from './support.ts'

test('the executable file needs no other file, and creates plants on both engines', async (t) => {
  const folder = tempFolder(t)
  const program = await executable(folder)
  t.diagnostic(`${(statSync(program).size / 1e6).toFixed(1)} MB`)
  writeFileSync(join(folder, 'tell.cjs'), TELL)
  // Hides Node.js and the project. An executable file runs no script of --import.
  const env = { PATH: '/nowhere', HOME: '/nowhere', NODE_OPTIONS: `--require=${join(folder, 'tell.cjs')}` }
  const whileServing = (address: string) => callsService(program, folder, address, env)
  await t.test('SQLite', (t) => createsPlant(t, [program, 'serve'], folder, { env, whileServing }))
  await t.test('PostgreSQL', async (t) => {
    const store = await newDatabase(t)
    await createsPlant(t, [program, 'serve'], folder, { env: { ...env, PLANTSTORE_STORE: store } })
  })
  await t.test('it prints the contract, and help with its own name', () => {
    const run = (...args: string[]) => execFileSync(program, args, { encoding: 'utf8', env, cwd: folder })
    const sources = execFileSync(process.execPath, [join(ROOT, 'bin/plantstore.js'), 'openapi'], { encoding: 'utf8' })
    assert.equal(run('openapi'), sources)
    assert.match(run('--help'), /^Usage: plantstore /)
    assert.ok(basename(program).startsWith('plantstore-'))
  })
})
