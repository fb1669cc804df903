import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { storePath } from '../../base/files.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { counted } from '../../base/printable.ts'
import type { CheckedPart, CheckOptions, CheckReport } from '../../domain/upkeep.ts'
import { openReader } from '../connection.ts'
import { adviceOn, sqliteFault } from '../errors.ts'
import { indexPath, inodeOf } from '../indexed.ts'
import { preflight } from '../open/preflight.ts'
import { hasTable, isServed, openingError, schemaOf } from '../open/prepare-file.ts'
import { StatementCache } from '../rows.ts'
import { removeIndex } from '../search-index/index-file.ts'
import { Indexer } from '../search-index/indexer.ts'
import { countsIn, faultsIn, foreignParts } from './copies.ts'
import { dropDamage } from './drop-damage.ts'

/** Maximum number of faults that the report names for one part. */
const MAX_NAMED = 20

/** Checks the store in the file `link` (Upkeep.check in src/domain/upkeep.ts). */
export async function checkStore(link: string, work: CheckOptions = {}): Promise<CheckReport> {
  const path = storePath(link)
  const parts: CheckedPart[] = []
  const add = async (doing: string, part: CheckedPart | Promise<CheckedPart>) => {
    parts.push(await part)
    work.onProgress?.({ doing, done: undefined })
    // A turn of the event loop between two parts lets a signal stop the check.
    await nextTurn()
    work.signal?.throwIfAborted()
  }
  try {
    if (work.dropDamaged === true) await add('going on without the damaged changes', dropDamage(path))
    preflight(path)
    using db = openReader(path)
    const schema = checkSchema(db, path)
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
  }
}

function checkSchema(db: DatabaseSync, path: string): CheckedPart {
  try {
    const { applied, known } = schemaOf(db)
    const found = applied < known ? `schema ${applied}; the next start migrates it to ${known}` : `schema ${applied}`
    return { part: 'schema', found, faults: foreignParts(db, MAX_NAMED) }
  } catch (error) {
    // It is of another version, which can check it.
    throw error instanceof OperatorError
      ? new OperatorError(`store ${path}: ${error.message}`, { cause: error })
      : error
  }
}

function checkFile(db: DatabaseSync): CheckedPart {
  try {
    const faults = faultsIn(db, MAX_NAMED)
    const { plants, tokens } = countsIn(db)
    return { part: 'file', found: `${counted(plants, 'plant')}, ${counted(tokens, 'token')}`, faults }
  } catch (error) {
    const fault = sqliteFault(error)
    if (fault === undefined) throw error
    return {
      part: 'file',
      found: 'unreadable',
      faults: [`${fault.message} (SQLite ${fault.errcode})${adviceOn(fault)}`],
    }
  }
}

/**
 * Makes the search index anew. Looking for its faults would take as long and find fewer: SQLite's own check saw 10 of 53
 * flipped bits. A service that serves the store makes the index anew by itself once the file is missing.
 */
async function renewIndex(path: string, { reindex = false, ...work }: CheckOptions): Promise<CheckedPart> {
  const part = (found: string): CheckedPart => ({ part: 'index', found, faults: [] })
  if (inodeOf(indexPath(path)) === undefined) return part('there is none; a service makes it')
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

/** Checks the log of changes: each position equals the position before it plus the changes of its row. */
function checkChanges(statements: StatementCache): CheckedPart {
  const faults = statements
    .all(FAULTS_OF_CHANGES)
    .map(({ 0: position, 1: kind, 2: isWhole, 3: last, 4: ids }) =>
      isWhole === 0n
        ? `position ${position}: its row does not have the form of a ${kind}`
        : `position ${position}: expected ${(last as bigint) + (ids as bigint)} after ${last}`,
    )
  const [rows, newest] = Object.values(statements.get('SELECT count(*), max(position) FROM changes') ?? {})
  const found = newest === null ? 'none yet' : `${counted(Number(rows), 'row')}, up to position ${newest}`
  return { part: 'changes', found, faults }
}

// Only a row of creates has no state before the change.
const FAULTS_OF_CHANGES = `SELECT position, kind, isWhole, last, ids FROM (
    SELECT position, kind, length(ids) % 8 = 0 AND length(ids) > 0
        AND iif(kind = 'create', name IS NULL, length(ids) = 8 AND name IS NOT NULL)
        AND iif(kind = 'delete', plants IS NULL, json_array_length(plants) = length(ids) / 4) AS isWhole,
      lag(position) OVER (ORDER BY position) AS last, length(ids) / 8 AS ids
    FROM changes
  ) WHERE NOT isWhole OR position <> last + ids ORDER BY position LIMIT ${MAX_NAMED}`
