import { statSync } from 'node:fs'
import { MAX_NAME, MAX_TAG, type Plant } from '../domain/plant.ts'
import type { SqliteFault } from './errors.ts'

// What the engine knows of its search index without opening it: the file, what a write costs it, and its progress.

/** Thrown by a read that needs the index, while the index lacks too many plants or has a fault. */
export class UnreadyIndex extends Error {
  override readonly name = 'UnreadyIndex'
  /** The file that needs a rebuild; undefined when none does. */
  readonly inode: number | undefined

  constructor(message: string, inode?: number) {
    super(message)
    this.inode = inode
  }
}

export const indexPath = (storePath: string): string => `${storePath}-index`

/**
 * Identifies the file at a path; undefined when there is none. A connection still reads a removed file, whose inode
 * differs from that of a new file.
 */
export const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino

/**
 * The index's work is counted in bytes of names and tags. A plant also takes as long as this many bytes of its words,
 * for its name, its tag and its rows.
 */
export const PLANT_WORK = 32
export const indexWork = ({ name, tag }: Plant): number =>
  PLANT_WORK + Buffer.byteLength(name) + (tag === undefined ? 0 : Buffer.byteLength(tag))
export const MAX_PLANT_WORK = PLANT_WORK + 4 * (MAX_NAME + MAX_TAG)
/** The work of one plant, as an SQL expression. SQLite reads the lengths without the texts. */
export const SQL_WORK = `${PLANT_WORK} + octet_length(name) + coalesce(octet_length(tag), 0)`

export interface IndexProgress {
  readonly position: number
  /** Changes of the log that the index lacks. */
  readonly behind: number
  /** Plants that the scan which fills a new index has not reached. */
  readonly unscanned: number
  readonly indexed: number
  /** The part of all plants that is in the index, from 0 to 1. */
  readonly share: number
  readonly isDone: boolean
  /** The reason for which this step rebuilt the index; absent when it did not. */
  readonly rebuilt?: string
}

/** Milliseconds of a clock that all threads share. `performance.now()` counts from the start of each thread. */
export const monotonicTime = (): number => Number(process.hrtime.bigint()) / 1e6

export type IndexReport =
  /** A step has ended that began at a time of `monotonicTime`. */
  | { readonly progress: IndexProgress; readonly startedAt: number }
  /** The index was removed, and the next one will begin so. */
  | { readonly dropped: IndexProgress }
  /** The index is durable up to this position. */
  | { readonly durable: number }
  /** A step has failed. The follower will retry. */
  | { readonly fault: string }
  /** The store's file can't be trusted any more. */
  | { readonly storeFault: SqliteFault }
