import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tempFolder } from '../support/files.ts'
import { isLinux, notTestedHere } from '../support/not-tested.ts'

/** Runs a script of test/support under a low limit of descriptors. @returns its standard output */
async function outputOf(script: string, ...args: string[]): Promise<string> {
  const path = fileURLToPath(new URL(`../support/${script}`, import.meta.url))
  const command = 'ulimit -n 100; exec "$0" "$@"'
  // Without the variable, the script is no part of this test run. Its own test runner prints lines after its lines.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, path, ...args], { env })
  return stdout
}

/** The states of a service that has no descriptor left. */
async function linesOf(warmth: 'cold' | 'warm', engine: 'sqlite' | 'postgres'): Promise<string[]> {
  const lines = (await outputOf('without-descriptors.ts', warmth, engine)).split('\n')
  return lines.slice(0, engine === 'postgres' ? 4 : 2)
}

const NONE = '503 503 {"error":50301,"message":"no search can start; the process may have run out of file descriptors"}'
const WELL = '200 200 {"status":"ready"}'

test('SQLite: the service reports that it is not ready while it has no descriptor for searches', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  const [cold, warm] = await Promise.all([linesOf('cold', 'sqlite'), linesOf('warm', 'sqlite')])
  assert.deepEqual(cold, [NONE, WELL])
  // Searches continue with a reader that is open already.
  assert.deepEqual(warm, [WELL, WELL])
})

test('PostgreSQL: without free descriptors the service uses its open connections, if it has any', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  const OUT = '503 503 {"error":50301,"message":"the store is out of reach; a later retry is safe"}'
  assert.deepEqual(await linesOf('cold', 'postgres'), [WELL, '60 of 60 are done', OUT, WELL])
})

test('a scheduled backup fails, and the process goes on, if no descriptor is left for the process of the backup', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  assert.equal(await outputOf('backup-without-descriptors.ts', tempFolder(t)), '1 failed: EMFILE\n')
})
