import { hasNoRoomToOpen, type SqliteFault, sqliteFault } from '../errors.ts'
import { type Row, StatementCache } from '../statement-cache.ts'

/**
 * Primary result codes of temporary faults: full disk, write lock taken, no memory, no file descriptor or no right to
 * the file (https://sqlite.org/rescode.html).
 */
const PASSING = [13, 5, 7, 14]

/** The search index can't be used as it is. The store is not affected. */
export class IndexFault extends Error {
  override readonly name = 'IndexFault'
  /** The content of the file is not at fault, so the same file can be used later. */
  readonly isPassing: boolean

  constructor(message: string, fault?: SqliteFault) {
    super(message)
    this.isPassing = fault !== undefined && (PASSING.includes(fault.errcode & 0xff) || hasNoRoomToOpen(fault))
  }
}

/** A fault in the content of the index, and the file that has it. */
export class DamagedIndex extends Error {
  override readonly name = 'DamagedIndex'
  readonly inode: number

  constructor(inode: number, message: string) {
    super(message)
    this.inode = inode
  }
}

/** The search index lacks more plants than a read looks up one by one. */
export class BehindError extends Error {
  override readonly name = 'BehindError'

  constructor() {
    super('the search index is too far behind')
  }
}

/** Turns every fault of SQLite into an IndexFault. */
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

/** Queries on the search index, whose faults are IndexFaults. */
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

  override runEach(...query: Parameters<StatementCache['runEach']>): void {
    inIndex(() => super.runEach(...query))
  }

  override *iterate(...query: Parameters<StatementCache['iterate']>): IterableIterator<Row> {
    try {
      yield* super.iterate(...query)
    } catch (error) {
      throw indexFault(error)
    }
  }
}
