import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { Plant } from '../../src/plant.ts'
import { cleanUp } from './clean-up.ts'

/** A new folder that is removed after the test. */
export function tempFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-test-'))
  cleanUp(t, () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/**
 * Everything below a folder: names, kinds, sizes and bytes. No file in it may be a store that this process has open.
 */
export function snapshot(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(
    entries.map((name) => {
      const stat = statSync(join(folder, name))
      if (!stat.isFile()) return [name, 'folder']
      const hash = createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')
      return [name, `${stat.size} bytes, mode ${(stat.mode & 0o777).toString(8)}, SHA-256 ${hash}`]
    }),
  )
}

/** The plants in a store file, read past the program; through SQLite, so the store may be served meanwhile. */
export function plantsIn(path: string): Map<bigint, Plant> {
  const db = new DatabaseSync(path, { readOnly: true, readBigInts: true, timeout: 10_000 })
  try {
    const rows = db.prepare('SELECT id, name, tag FROM plants').all() as {
      id: bigint
      name: string
      tag: string | null
    }[]
    return new Map(rows.map(({ id, name, tag }) => [id, { name, tag: tag ?? undefined }]))
  } finally {
    db.close()
  }
}

/** Whether SQLite finds the whole file in order. */
export function isIntact(path: string): boolean {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 10_000 })
  try {
    return db.prepare('PRAGMA integrity_check').get()?.['integrity_check'] === 'ok'
  } finally {
    db.close()
  }
}

/**
 * Copies an idle store with its log, as a crash would leave them. Another process does it: a descriptor closed in this
 * one would drop the locks of a store that it has open (https://sqlite.org/howtocorrupt.html section 2.2).
 */
export function copyAsAfterCrash(path: string, target: string): void {
  const script = `const { copyFileSync, existsSync } = require('node:fs')
    for (const suffix of ['', '-wal']) if (existsSync(${JSON.stringify(path)} + suffix))
      copyFileSync(${JSON.stringify(path)} + suffix, ${JSON.stringify(target)} + suffix)`
  execFileSync(process.execPath, ['-e', script])
}
