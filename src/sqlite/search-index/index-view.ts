import type { DatabaseSync } from 'node:sqlite'
import type { ChangeReader } from '../change-log/change-reader.ts'
import { openReader } from '../connection.ts'
import { DamagedIndex, IndexFault, IndexStatements, inIndex } from './index-fault.ts'
import { type IndexState, indexPath, inodeOf, readState } from './index-file.ts'

interface Open {
  readonly db: DatabaseSync
  readonly statements: IndexStatements
  readonly inode: number
}

/** A reader's view of the search index, at one position of the log of changes. */
export class IndexView {
  readonly #path: string
  #open: Open | undefined

  constructor(storePath: string) {
    this.#path = indexPath(storePath)
  }

  /**
   * Begins a read. Call it before the transaction of the store begins, so that the store has all changes that the index
   * has.
   *
   * @returns the progress of the index; undefined when there is none of this store and this version
   */
  begin(identity: Uint8Array): IndexState | undefined {
    const open = this.#current()
    if (open === undefined) return undefined
    try {
      inIndex(() => open.db.exec('BEGIN'))
      return readState(open.statements, identity)
    } catch (error) {
      this.close()
      // The indexer finds this fault as well.
      if (error instanceof IndexFault) return undefined
      throw error
    }
  }

  /**
   * Whether the log of the store continues from the index.
   *
   * @param changes in a transaction that began after that of the index
   */
  isContinued(changes: ChangeReader, { position, mark }: IndexState): boolean {
    return changes.goesOnFrom(position, mark)
  }

  /** Valid between `begin` and `end`. */
  get statements(): IndexStatements {
    if (this.#open === undefined) throw new IndexFault('the index is not open')
    return this.#open.statements
  }

  /** The error to report for an error of a statement. */
  faultOf(error: unknown): unknown {
    if (!(error instanceof IndexFault)) return error
    return new DamagedIndex(error.isPassing ? -1 : (this.#open?.inode ?? -1), error.message)
  }

  end(): void {
    try {
      if (this.#open?.db.isTransaction === true) this.#open.db.exec('COMMIT')
    } catch {
      this.close()
    }
  }

  close(): void {
    this.#open?.db.close()
    this.#open = undefined
  }

  /** The connection to the file that is at the path now. */
  #current(): Open | undefined {
    const inode = inodeOf(this.#path)
    if (this.#open !== undefined && this.#open.inode !== inode) this.close()
    if (inode === undefined || this.#open !== undefined) return this.#open
    try {
      const db = inIndex(() => openReader(this.#path))
      this.#open = { db, statements: new IndexStatements(db), inode }
    } catch (error) {
      if (!(error instanceof IndexFault)) throw error
    }
    return this.#open
  }
}
