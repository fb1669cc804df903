import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isLinux, notTestedHere } from './support/not-tested.ts'

const SCRIPT = fileURLToPath(new URL('support/without-descriptors.ts', import.meta.url))

/** Runs the script and returns its lines. */
async function linesOf(warmth: 'cold' | 'warm', engine: 'sqlite' | 'postgres'): Promise<string[]> {
  const command = 'ulimit -n 100; exec "$0" "$@"'
  // Without the variable, the script is no part of this test run. Its own test runner prints lines after its lines.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, SCRIPT, warmth, engine], { env })
  return stdout.split('\n').slice(0, engine === 'postgres' ? 4 : 2)
}

const NONE = '503 503 {"error":50301,"message":"no search can start; the process may have run out of file descriptors"}'
const WELL = '200 200 {"status":"ready"}'

test('SQLite: the service reports that it is not ready while it has no descriptor for searches', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  assert.deepEqual(await linesOf('cold', 'sqlite'), [NONE, WELL])
  // Searches continue with a reader that is open already.
  assert.deepEqual(await linesOf('warm', 'sqlite'), [WELL, WELL])
})

test('PostgreSQL: without free descriptors the service uses its open connections, if it has any', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  const OUT = '503 503 {"error":50301,"message":"the store is out of reach; a later retry is safe"}'
  assert.deepEqual(await linesOf('cold', 'postgres'), [WELL, '60 of 60 are done', OUT, WELL])
})
