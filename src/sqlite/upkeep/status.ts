import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { storePath } from '../../base/files.ts'
import type { IndexStatus, StoreBytes, StoreStatus, Upkeep } from '../../domain/upkeep.ts'
import { continuesFrom, headOf, identityIn } from '../change-log/change-reader.ts'
import { openReader } from '../connection.ts'
import { sqliteFault } from '../errors.ts'
import { preflight } from '../open/preflight.ts'
import { isServed, openingError, schemaOf } from '../open/prepare-file.ts'
import { StatementCache } from '../rows.ts'
import { IndexView } from '../search-index/index-file.ts'
import { sizeOf } from '../wal/reserve.ts'
import { makeBackup, restoreBackup } from './backup.ts'
import { checkStore } from './check.ts'
import { countsIn } from './copies.ts'

/** Returns the sizes of the files. It opens no file, so it is safe while this process has the store open. */
export function bytesOf(link: string): StoreBytes {
  const path = storePath(link)
  return { store: sizeOf(path), log: sizeOf(`${path}-wal`) }
}

/**
 * Returns 8 hexadecimal digits that tell the store in the file `link` from others, also of a backup, which has those of
 * its store; undefined for a file without an identity.
 */
export function identityOf(link: string): string | undefined {
  const path = storePath(link)
  try {
    // Without locks and without a log, reading a backup leaves no file beside it (https://sqlite.org/uri.html).
    const alone = pathToFileURL(path)
    alone.searchParams.set('immutable', '1')
    using db = existsSync(`${path}-wal`) ? openReader(path) : new DatabaseSync(alone, { readOnly: true })
    return shownIdentityIn(db)
  } catch (error) {
    if (sqliteFault(error) === undefined) throw error
    return undefined
  }
}

function shownIdentityIn(db: DatabaseSync): string {
  const text = db.prepare('SELECT hex(substr(identity, 1, 4)) AS text FROM store_identity').get()?.['text']
  return String(text).toLowerCase()
}

/** Reports what the store in the file `link` holds, also while a service serves it. Changes nothing. */
export function statusOf(link: string): StoreStatus {
  const path = storePath(link)
  try {
    preflight(path)
    using db = openReader(path)
    const { applied, known } = schemaOf(db)
    const isActive = '(expires_at IS NULL OR expires_at > ?) AND revoked_at IS NULL'
    const active = db.prepare(`SELECT count(*) AS count FROM tokens WHERE ${isActive}`).get(Date.now())
    return {
      store: path,
      engine: 'sqlite',
      bytes: bytesOf(path),
      schema: applied,
      nextSchema: applied < known ? known : undefined,
      identity: shownIdentityIn(db),
      plants: countsIn(db).plants,
      tokens: Number(active?.['count']),
      index: indexOf(path, new StatementCache(db)),
      isServed: isServed(path),
    }
  } catch (error) {
    throw openingError(path, error)
  }
}

function indexOf(path: string, statements: StatementCache): IndexStatus {
  const view = new IndexView(path)
  try {
    const index = view.begin(identityIn(statements))
    if (index === undefined || !continuesFrom(statements, index)) return { state: 'none' }
    if (index.isScanning) return { state: 'building', indexed: index.scanned, plants: index.plants }
    return { state: 'ready', behind: Math.max(0, headOf(statements) - index.position) }
  } finally {
    view.close()
  }
}

export const sqliteUpkeep = (path: string): Upkeep => ({
  backup: (file, work) => makeBackup(path, file, work),
  restore: (file, options) => restoreBackup(path, file, options),
  check: (work) => checkStore(path, work),
})
