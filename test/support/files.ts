import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../src/base/operator-error.ts'
import type { Plant } from '../../src/domain/plant.ts'
import { cleanUp, type Scene } from './clean-up.ts'

/** A check for `assert.rejects`: whether the operator gets such a message, and the command such an exit code. */
export const fails =
  (why: RegExp, exitCode?: 1 | 2) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof OperatorError, String(error))
    assert.match(error.message, why)
    if (exitCode !== undefined) assert.equal(error.exitCode, exitCode)
    return true
  }

/** Creates a folder, which is removed after the test. */
export function tempFolder(scene: Scene): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-test-'))
  cleanUp(scene, () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** Describes everything below a folder: names, kinds, sizes and bytes. This process must have no store open there. */
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

/** Reads the plants of a store file by SQLite, so a service may have the store open. */
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

/** Whether SQLite's integrity check passes. */
export function isIntact(path: string): boolean {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 10_000 })
  try {
    return db.prepare('PRAGMA integrity_check').get()?.['integrity_check'] === 'ok'
  } finally {
    db.close()
  }
}

/**
 * Copies an idle store with its log, as a crash would leave them. Another process copies: closing a file of an open
 * store in this process would drop the locks (https://sqlite.org/howtocorrupt.html section 2.2).
 */
export function copyAsAfterCrash(path: string, target: string): void {
  for (const suffix of ['', '-wal']) {
    if (existsSync(path + suffix)) execFileSync('cp', [path + suffix, target + suffix])
  }
}
