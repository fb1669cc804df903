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

/** A reader's connection to the search index. From `begin` to `end` it sees the index at one position. */
export class IndexView {
  readonly #path: string
  #open: Open | undefined

  constructor(storePath: string) {
    this.#path = indexPath(storePath)
  }

  /**
   * Begins a read. Call it before the transaction of the store begins: the store then has all changes that the index
   * has.
   *
   * @returns the state of the index; undefined when there is no index of this store and version
   */
  begin(identity: Uint8Array): IndexState | undefined {
    const open = this.#current()
    if (open === undefined) return undefined
    try {
      inIndex(() => open.db.exec('BEGIN'))
      return readState(open.statements, identity)
    } catch (error) {
      this.close()
      // The indexer finds this fault too, and rebuilds the index.
      if (error instanceof IndexFault) return undefined
      throw error
    }
  }

  /**
   * Whether the log of the store continues at the position of the index.
   *
   * @param changes the log, in a transaction that began after the read of the index
   */
  isContinued(changes: ChangeReader, { position, mark }: IndexState): boolean {
    return changes.continuesFrom(position, mark)
  }

  /** Valid between `begin` and `end`. */
  get statements(): IndexStatements {
    if (this.#open === undefined) throw new IndexFault('the index is not open')
    return this.#open.statements
  }

  /** Returns the error to throw for an error of a statement: a DamagedIndex for an IndexFault. */
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

  /** Returns the connection to the present file at the path; undefined when there is none, or it can't be opened. */
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
