import type { StatementCache } from '../rows.ts'
import { unpack } from './change-reader.ts'
import { bytesOf, type Keep } from './change-writer.ts'

/** Milliseconds after which a transaction moves no further row. */
const MOVE_TIME = 5

/** Whether a store of before schema 8 has rows of its log that have not been moved yet. */
export const hasOldChanges = (statements: StatementCache): boolean =>
  statements.get("SELECT 1 FROM sqlite_schema WHERE name = 'old_changes'") !== undefined

/**
 * Moves rows of the log of such a store into the present table, the newest first, and removes those that are not kept.
 * A create also becomes the `created` of its plant, or of the delete of its plant. Call it inside a transaction.
 */
export function moveOldChanges(statements: StatementCache, keep: Keep): void {
  const until = performance.now() + MOVE_TIME
  const since = Date.now() - keep.time
  const newest = Number(statements.get('SELECT max(bytes) FROM changes')?.[0] ?? 0)
  while (performance.now() < until) {
    const row = statements.get('SELECT position, at, kind, ids FROM old_changes ORDER BY position DESC LIMIT 1')
    if (row === undefined) {
      statements.run('DROP TABLE old_changes')
      return
    }
    const position = row[0] as bigint
    const first = firstRow(statements)
    const isKept = position === first.begin && Number(row[1]) >= since && newest - first.bytes < keep.bytes
    if (isKept) statements.run(MOVE, first.bytes, position)
    // The migration has copied the newest rows, but noted no creates.
    if (row[2] === 'create' && (isKept || position > first.begin)) noteCreates(statements, position, unpack(row[3]))
    statements.run('DELETE FROM old_changes WHERE position = ?', position)
  }
}

const MOVE = `INSERT INTO changes
  SELECT position, ?, at, kind, ids, name, tag, token, NULL FROM old_changes WHERE position = ?`

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

function noteCreates(statements: StatementCache, position: bigint, ids: BigInt64Array): void {
  const base = position - BigInt(ids.length)
  for (const id of ids) {
    const isDeleted = statements.run(NOTE_DELETED, base, new Uint8Array(BigInt64Array.of(id).buffer), position)
    if (isDeleted === 0n) statements.run('UPDATE plants SET created = ? WHERE id = ?', base, id)
  }
}

const NOTE_DELETED = `UPDATE changes SET created = ? WHERE position = (
    SELECT position FROM changes INDEXED BY changes_of_plant
    WHERE ids = ? AND kind <> 'create' AND kind = 'delete' AND position > ? ORDER BY position LIMIT 1
  )`
