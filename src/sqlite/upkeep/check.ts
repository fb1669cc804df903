import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { storePath } from '../../base/files.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { counted } from '../../base/printable.ts'
import type { CheckedPart, CheckOptions, CheckReport } from '../../domain/upkeep.ts'
import { openReader } from '../connection.ts'
import { sqliteFault } from '../errors.ts'
import { preflight } from '../open/preflight.ts'
import { hasTable, isServed, openingError, schemaOf } from '../open/prepare-file.ts'
import { StatementCache } from '../rows.ts'
import { indexPath, removeIndex } from '../search-index/index-file.ts'
import { Indexer } from '../search-index/indexer.ts'
import { countsIn } from './copies.ts'

/** Maximum number of faults that the report names for one part. */
const MAX_NAMED = 20

/** Checks the store in the file `link` (Upkeep.check in src/domain/upkeep.ts). */
export async function checkStore(link: string, work: CheckOptions = {}): Promise<CheckReport> {
  const path = storePath(link)
  let db: DatabaseSync | undefined
  const parts: CheckedPart[] = []
  const add = async (doing: string, part: CheckedPart | Promise<CheckedPart>) => {
    parts.push(await part)
    work.onProgress?.({ doing, done: undefined })
    // A turn of the event loop between two parts lets a signal stop the check.
    await nextTurn()
    work.signal?.throwIfAborted()
  }
  try {
    if (preflight(path) === 'absent') throw new OperatorError(`store ${path}: it does not exist`)
    db = openReader(path)
    const schema = checkSchema(db)
    const isReadable = schema.faults.length === 0 && hasTable(db, 'store_identity')
    const statements = new StatementCache(db)
    db.exec('BEGIN')
    await add('checking the schema', schema)
    await add('checking the file', checkFile(db))
    if (isReadable) {
      await add('checking the log of changes', checkChanges(statements))
      db.close()
      const isWhole = parts.every(({ faults }) => faults.length === 0)
      if (isWhole) await add('making the search index anew', renewIndex(path, work))
    }
    return { store: path, parts }
  } catch (error) {
    throw openingError(path, error)
  } finally {
    if (db?.isOpen === true) db.close()
  }
}

function checkSchema(db: DatabaseSync): CheckedPart {
  try {
    const { applied, known } = schemaOf(db)
    const found = applied < known ? `schema ${applied}; the next start migrates it to ${known}` : `schema ${applied}`
    return { part: 'schema', found, faults: [] }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return { part: 'schema', found: 'of another program', faults: [error.message] }
  }
}

/**
 * Checks every page, and compares every index of the file with its table
 * (https://sqlite.org/pragma.html#pragma_integrity_check).
 */
function checkFile(db: DatabaseSync): CheckedPart {
  try {
    const rows = db.prepare(`PRAGMA integrity_check(${MAX_NAMED})`).all()
    const found = rows.map((row) => String(row['integrity_check']))
    const faults = found.length === 1 && found[0] === 'ok' ? [] : found
    const { plants, tokens } = countsIn(db)
    return { part: 'file', found: `${counted(plants, 'plant')}, ${counted(tokens, 'token')}`, faults }
  } catch (error) {
    const fault = sqliteFault(error)
    if (fault === undefined) throw error
    return { part: 'file', found: 'unreadable', faults: [`${fault.message} (SQLite ${fault.errcode})`] }
  }
}

/**
 * Makes the search index anew. Looking for its faults would take as long and find fewer: SQLite's own check saw 10 of 53
 * flipped bits. A service that serves the store makes the index anew by itself once the file is missing.
 */
async function renewIndex(path: string, { reindex = false, ...work }: CheckOptions): Promise<CheckedPart> {
  const part = (found: string): CheckedPart => ({ part: 'index', found, faults: [] })
  if (!existsSync(indexPath(path))) return part('there is none; a service makes it')
  const isInUse = isServed(path)
  if (isInUse && !reindex) return part('not made anew, as a service uses it; --reindex has the service do so')
  removeIndex(indexPath(path))
  if (isInUse) return part('the service makes it anew')
  const indexer = new Indexer(path)
  try {
    for (;;) {
      const { isDone, share } = indexer.step()
      work.onProgress?.({ doing: 'making the search index anew', done: share })
      if (isDone) return part('made anew')
      await nextTurn()
      work.signal?.throwIfAborted()
    }
  } finally {
    indexer.close()
  }
}

/** Bytes of an id in a row of the log. */
const ID = 8

/** Checks the log of changes: each position equals the position before it plus the changes of its row. */
function checkChanges(statements: StatementCache): CheckedPart {
  const faults: string[] = []
  let rows = 0
  let last: number | undefined
  const sql = 'SELECT position, kind, length(ids), name IS NULL FROM changes ORDER BY position'
  for (const { 0: at, 1: kind, 2: bytes, 3: isNameless } of statements.iterate(sql)) {
    const position = Number(at)
    const ids = Number(bytes) / ID
    const isCreate = kind === 'create'
    // Only a row of creates has no state before the change.
    const isWhole = Number.isInteger(ids) && (isCreate ? ids > 0 : ids === 1) && (isNameless === 1n) === isCreate
    if (!isWhole) faults.push(`position ${position}: its row does not have the form of a ${kind}`)
    else if (last !== undefined && position !== last + ids) {
      faults.push(`position ${position}: expected ${last + ids} after ${last}`)
    }
    last = position
    rows++
    if (faults.length === MAX_NAMED) break
  }
  return {
    part: 'changes',
    found: last === undefined ? 'none yet' : `${counted(rows, 'row')}, up to position ${last}`,
    faults,
  }
}
