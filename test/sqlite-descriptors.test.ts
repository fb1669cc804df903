import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tempFolder } from './support/files.ts'
import { isLinux, notTestedHere } from './support/not-tested.ts'

const SCRIPT = fileURLToPath(new URL('support/without-descriptors.ts', import.meta.url))

/** The lines of the script: without a descriptor left, and with descriptors again. */
async function statesOf(path: string, warmth: 'cold' | 'warm'): Promise<string[]> {
  const command = 'ulimit -n 100; exec "$0" "$@"'
  const args = ['-c', command, process.execPath, SCRIPT, path, warmth]
  return (await promisify(execFile)('sh', args)).stdout.trimEnd().split('\n')
}

test('SQLite: a store says that it can not be searched without a descriptor, and can again with one', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  const path = join(tempFolder(t), 'plants.db')
  const NONE = 'rejected rejected no search can be begun; the process may have no file descriptor left'
  assert.deepEqual(await statesOf(path, 'cold'), [NONE, 'fulfilled fulfilled'])
  // With a connection that is open already, both can be had.
  assert.deepEqual(await statesOf(path, 'warm'), ['fulfilled fulfilled', 'fulfilled fulfilled'])
})
