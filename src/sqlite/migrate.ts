import type { DatabaseSync } from 'node:sqlite'
import { type AppliedMigration, type Migration, pendingMigrations, readMigrations } from '../base/migrations.ts'
import { transaction } from './connection.ts'

const DIRECTORY = new URL('../../sql/sqlite/', import.meta.url)

/** @throws OperatorError under the conditions of `migrate` */
export const isUpToDate = (db: DatabaseSync): boolean =>
  pendingMigrations(readMigrations(DIRECTORY), applied(db)).length === 0

/**
 * Applies the pending migrations in one transaction. Several processes may call it at once: each takes the write lock,
 * and then looks again which migrations are pending.
 *
 * @throws OperatorError when a newer program, or migrations other than this program's, made the schema
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

export const hasTable = (db: DatabaseSync, name: string): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined

/**
 * Counts the migrations that a store has applied, and those that this program knows.
 *
 * @throws OperatorError under the conditions of `migrate`
 */
export function schemaOf(db: DatabaseSync): { readonly applied: number; readonly known: number } {
  const known = readMigrations(DIRECTORY)
  const pending = pendingMigrations(known, applied(db))
  return { applied: known.length - pending.length, known: known.length }
}

function applied(db: DatabaseSync): AppliedMigration[] {
  if (!hasTable(db, 'migrations')) return []
  return db
    .prepare('SELECT number, checksum FROM migrations ORDER BY number')
    .all()
    .map((row) => ({ number: Number(row['number']), checksum: String(row['checksum']) }))
}
