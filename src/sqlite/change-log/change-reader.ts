import type { NewPlant } from '../../domain/plant.ts'
import type { SqliteRow, StatementCache } from '../rows.ts'

/** A row of the log of changes (sql/sqlite/000001.sql). */
export interface LoggedChange {
  readonly position: number
  readonly ids: BigInt64Array
  /** The plant before the change; undefined for creates. */
  readonly before: NewPlant | undefined
  /** The plants after it, one for each id; undefined for a deleted one. */
  readonly plants: readonly (NewPlant | undefined)[]
}

// Reads of the log of changes, each inside a read transaction of the store.

/** The identity of the store: 16 random bytes. */
export const identityIn = (statements: StatementCache): Uint8Array =>
  statements.get('SELECT identity FROM store_identity')?.[0] as Uint8Array

/** The position of the newest change; 0 before the first one. */
export const headOf = (statements: StatementCache): number =>
  Number(statements.get('SELECT max(position) FROM changes')?.[0] ?? 0)

/** Whether the log has every change after a place. */
export function continuesFrom(statements: StatementCache, { position, mark }: LogPlace): boolean {
  if (position > 0) return markAt(statements, position) === mark
  const first = statements.get('SELECT position, ids FROM changes ORDER BY position LIMIT 1')
  return first === undefined || Number(first[0]) === unpack(first[1]).length
}

interface LogPlace {
  readonly position: number
  /** The mark of the row there when it was read. */
  readonly mark: string
}

/**
 * Returns the mark of the row that ends at a position; undefined when no row ends there. A store that was restored
 * from a backup has another row, with another mark, at the same position.
 */
export function markAt(statements: StatementCache, position: number): string | undefined {
  const row = statements.get('SELECT at, kind, ids FROM changes WHERE position = ?', position)
  if (row === undefined) return undefined
  const ids = unpack(row[2])
  return `${row[0]} ${row[1]} ${ids.length} ${ids[0]} ${ids.at(-1)}`
}

export function* changesAfter(statements: StatementCache, position: number): Iterable<LoggedChange> {
  const sql = 'SELECT position, ids, name, tag, plants FROM changes WHERE position > ? ORDER BY position'
  for (const row of statements.iterate(sql, position)) yield changeOf(row)
}

/** Returns the plants that changed after a position. A row of the result for each change takes five times as long. */
export function changedAfter(statements: StatementCache, position: number): Set<bigint> {
  const row = statements.get("SELECT group_concat(hex(ids), '') FROM changes WHERE position > ?", position)
  return new Set(unpack(Buffer.from((row?.[0] as string | null) ?? '', 'hex')))
}

/** Returns the plants that changed after a position, with their tags at it: null for no tag, undefined for no plant. */
export function tagsAt(statements: StatementCache, position: number): Map<bigint, string | null | undefined> {
  const tags = new Map<bigint, string | null | undefined>()
  const sql = 'SELECT ids, name, tag FROM changes WHERE position > ? ORDER BY position'
  for (const { 0: ids, 1: name, 2: tag } of statements.iterate(sql, position)) {
    for (const id of unpack(ids)) if (!tags.has(id)) tags.set(id, name === null ? undefined : (tag as string | null))
  }
  return tags
}

function changeOf({ 0: position, 1: blob, 2: name, 3: tag, 4: plants }: SqliteRow): LoggedChange {
  const ids = unpack(blob)
  return { position: Number(position), ids, before: plantBefore(ids, name, tag), plants: plantsAfter(ids, plants) }
}

/** @param name null of a row of creates */
export const plantBefore = (ids: BigInt64Array, name: unknown, tag: unknown): NewPlant | undefined =>
  typeof name === 'string' ? { id: ids[0] ?? 0n, name, tag: typeof tag === 'string' ? tag : undefined } : undefined

/** @param texts null of a row of a delete */
export function plantsAfter(ids: BigInt64Array, texts: unknown): (NewPlant | undefined)[] {
  const all: (string | null)[] = typeof texts === 'string' ? JSON.parse(texts) : []
  return Array.from(ids, (id, i) => {
    const name = all[2 * i]
    return name == null ? undefined : { id, name, tag: all[2 * i + 1] ?? undefined }
  })
}

export function unpack(blob: unknown): BigInt64Array {
  const bytes = blob as Uint8Array
  return new BigInt64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
}

/** More than the changes of one commit. The create of a plant is among so many after its `created`: 2 ms if it is gone. */
const MAX_COMMIT = 16_384

/** The row of the log that creates a plant, and the index of the plant in it. @returns undefined when the row is gone */
export function createRow(
  statements: StatementCache,
  id: bigint,
  created: number,
): { readonly position: number; readonly index: number } | undefined {
  const blob = new Uint8Array(new BigInt64Array([id]).buffer)
  const sql = `SELECT position, ids FROM changes
    WHERE position > ? AND position <= ? AND kind = 'create' AND instr(ids, ?) > 0 ORDER BY position`
  // It ends at the row: the log behind it may be long.
  for (const row of statements.iterate(sql, created, created + MAX_COMMIT, blob)) {
    const index = unpack(row[1]).indexOf(id)
    if (index !== -1) return { position: Number(row[0]), index }
  }
  return undefined
}
