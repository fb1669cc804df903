import { randomBytes } from 'node:crypto'
import { closeSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type AppliedMigration, type Migration, pendingMigrations, readMigrations } from '../migrations.ts'
import { APPLICATION_ID, openWriter, transaction } from './connection.ts'
import { advanceMark } from './log-mark.ts'
import { syncDirectory } from './sync-directory.ts'

const DIRECTORY = new URL('../../sql/sqlite/', import.meta.url)

/**
 * Makes a new, empty store: whole or not at all, whoever else does the same at the moment. It is made under another name
 * and linked to its own at the end, which succeeds for one of many. Only the owner may read it (mode 0600).
 */
export function createStoreFile(path: string): void {
  const draft = `${path}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  closeSync(openSync(draft, 'wx', 0o600))
  try {
    const db = openWriter(draft)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    migrate(db)
    transaction(db, () => advanceMark(db))
    db.close()
    linkUnlessThere(draft, path)
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(draft + suffix, { force: true })
  }
  syncDirectory(dirname(path))
}

function linkUnlessThere(draft: string, path: string): void {
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Brings the schema up to date. Safe when many processes do it at once: each takes the write lock and looks again.
 *
 * @throws OperatorError when the store is newer than this program or its schema is another one
 */
export function migrate(db: DatabaseSync): void {
  const known = readMigrations(DIRECTORY)
  if (pendingMigrations(known, applied(db)).length === 0) return
  transaction(db, () => {
    db.exec('CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT')
    for (const migration of pendingMigrations(known, applied(db))) apply(db, migration)
  })
}

function apply(db: DatabaseSync, { number, sql, checksum }: Migration): void {
  db.prepare('INSERT INTO migrations (number, checksum) VALUES (?, ?)').run(number, checksum)
  db.exec(sql)
}

function applied(db: DatabaseSync): AppliedMigration[] {
  const hasTable = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'").get()
  if (hasTable === undefined) return []
  return db
    .prepare('SELECT number, checksum FROM migrations ORDER BY number')
    .all()
    .map((row) => ({ number: Number(row['number']), checksum: String(row['checksum']) }))
}
