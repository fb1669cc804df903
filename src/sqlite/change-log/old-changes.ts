import type { DatabaseSync } from 'node:sqlite'
import { StatementCache } from '../rows.ts'
import type { WalCheckpointer } from '../wal/transactions.ts'
import { unpack } from './change-reader.ts'
import { bytesOf, type Keep } from './change-writer.ts'

/** Milliseconds after which a transaction moves no further row. */
const MOVE_TIME = 5
const MAX_ROWS = 1000

/**
 * Moves a part of the log of a store of before schema 8 into the present table, the newest rows first, in one
 * transaction. It removes rows that are not kept. A create also becomes the `created` of its plant, or of the delete of
 * its plant.
 *
 * @returns whether more rows remain
 */
export function moveOldChanges(db: DatabaseSync, wal: WalCheckpointer, keep: Keep): boolean {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'old_changes'").get() === undefined) return false
  return wal.transaction(() => {
    const statements = new StatementCache(db)
    const until = performance.now() + MOVE_TIME
    const newest = Number(statements.get('SELECT max(bytes) FROM changes')?.[0] ?? 0)
    const rows = statements.all(`SELECT position FROM old_changes ORDER BY position DESC LIMIT ${MAX_ROWS}`)
    for (const { 0: position } of rows) {
      if (performance.now() > until) return true
      const row = statements.get('SELECT at, kind, ids FROM old_changes WHERE position = ?', position ?? null)
      const ids = unpack(row?.[2])
      const first = firstRow(statements)
      const isNext = position === first.begin
      const isKept = isNext && Number(row?.[0]) >= keep.since && newest - first.bytes < keep.bytes
      if (isKept) {
        statements.run(
          `INSERT INTO changes
          SELECT position, ?, at, kind, ids, name, tag, token, NULL FROM old_changes WHERE position = ?`,
          first.bytes,
          position,
        )
      }
      // The migration has copied the newest rows, but noted no creates.
      if (row?.[1] === 'create' && (isKept || Number(position) > first.begin))
        noteCreates(statements, Number(position), ids)
      statements.run('DELETE FROM old_changes WHERE position = ?', position ?? null)
    }
    if (rows.length === MAX_ROWS) return true
    db.exec('DROP TABLE old_changes')
    return false
  })
}

/** Returns the position and the running total before the oldest row. */
function firstRow(statements: StatementCache): { readonly begin: bigint; readonly bytes: number } {
  const row = statements.get('SELECT position, bytes, length(ids), name, tag FROM changes ORDER BY position LIMIT 1')
  if (row === undefined) throw new Error('the log of changes has lost its newest row')
  const { 0: position, 1: bytes, 2: length, 3: name, 4: tag } = row
  const ids = Number(length) / 8
  return {
    begin: (position as bigint) - BigInt(ids),
    bytes: Number(bytes) - bytesOf(ids, name as string | null, tag as string | null),
  }
}

function noteCreates(statements: StatementCache, position: number, ids: BigInt64Array): void {
  const base = position - ids.length
  for (const id of ids) {
    const blob = new Uint8Array(new BigInt64Array([id]).buffer)
    const isDeleted = statements.run(
      `UPDATE changes SET created = ? WHERE position = (
        SELECT position FROM changes INDEXED BY changes_of_plant
        WHERE ids = ? AND kind <> 'create' AND kind = 'delete' AND position > ? ORDER BY position LIMIT 1
      )`,
      base,
      blob,
      position,
    )
    if (isDeleted === 0n) statements.run('UPDATE plants SET created = ? WHERE id = ?', base, id)
  }
}
