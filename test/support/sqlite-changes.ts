import { fromFile } from './sqlite-indexes.ts'

/** A row of the log of changes, without its time. */
export interface LoggedChange {
  readonly position: bigint
  readonly kind: string
  readonly ids: readonly bigint[]
  readonly name: string | null
  readonly tag: string | null
}

/** The log of changes of a store, read without the store. */
export function changesIn(path: string): LoggedChange[] {
  return fromFile(path, (db) =>
    db
      .prepare('SELECT position, kind, ids, name, tag FROM changes ORDER BY position')
      .all()
      .map(({ position, kind, ids, name, tag }) => ({
        position: position as bigint,
        kind: kind as string,
        ids: unpack(ids as Uint8Array),
        name: name as string | null,
        tag: tag as string | null,
      })),
  )
}

/** The kind, the ids and the token of each row of the log of changes, in order. */
export const actorsIn = (path: string): [kind: string, ids: bigint[], actor: string | null][] =>
  fromFile(path, (db) =>
    db
      .prepare('SELECT kind, ids, token FROM changes ORDER BY position')
      .all()
      .map(({ kind, ids, token }) => [kind as string, unpack(ids as Uint8Array), token as string | null]),
  )

const unpack = (blob: Uint8Array): bigint[] => [...new BigInt64Array(blob.slice().buffer)]
