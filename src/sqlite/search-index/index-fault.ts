import { isFull, isWriteFault, type SqliteFault, sqliteFault } from '../errors.ts'
import { type Row, StatementCache } from '../statement-cache.ts'

/**
 * Primary result codes of temporary faults: full disk, database busy, out of memory, and a file that can't be opened
 * for lack of a descriptor or of permission (https://sqlite.org/rescode.html).
 */
const PASSING = [13, 5, 7, 14]

/** An error of the search index. It does not affect the store. */
export class IndexFault extends Error {
  override readonly name = 'IndexFault'
  /** Whether the content of the file may be intact, so that the index can use the same file later. */
  readonly isPassing: boolean
  /** Whether a write has failed, most often for lack of space. */
  readonly isOfWriting: boolean

  constructor(message: string, fault?: SqliteFault) {
    super(message)
    this.isOfWriting = fault !== undefined && (isFull(fault) || isWriteFault(fault))
    this.isPassing = this.isOfWriting || (fault !== undefined && PASSING.includes(fault.errcode & 0xff))
  }
}

/** An error that a reader found in the index. */
export class DamagedIndex extends Error {
  override readonly name = 'DamagedIndex'
  /** The file that needs a rebuild; -1 when none does. */
  readonly inode: number

  constructor(inode: number, message: string) {
    super(message)
    this.inode = inode
  }
}

/** Thrown when the search index lacks more plants than a read may look up one by one. */
export class BehindError extends Error {
  override readonly name = 'BehindError'

  constructor() {
    super('the search index is too far behind')
  }
}

/** Runs `work`, and turns every fault of SQLite into an IndexFault. */
export function inIndex<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw indexFault(error)
  }
}

function indexFault(error: unknown): unknown {
  const fault = sqliteFault(error)
  return fault === undefined ? error : new IndexFault(`SQLite ${fault.errcode}: ${fault.message}`, fault)
}

/** Runs queries on the search index, and turns every fault of SQLite into an IndexFault. */
export class IndexStatements extends StatementCache {
  override get(...query: Parameters<StatementCache['get']>): Row | undefined {
    return inIndex(() => super.get(...query))
  }

  override all(...query: Parameters<StatementCache['all']>): Row[] {
    return inIndex(() => super.all(...query))
  }

  override run(...query: Parameters<StatementCache['run']>): bigint {
    return inIndex(() => super.run(...query))
  }

  override *iterate(...query: Parameters<StatementCache['iterate']>): IterableIterator<Row> {
    try {
      yield* super.iterate(...query)
    } catch (error) {
      throw indexFault(error)
    }
  }
}
