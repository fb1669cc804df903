import { randomInt } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { isFull } from '../errors.ts'
import { asFull, transaction } from './transaction.ts'

/**
 * The epoch is a number on the first page of the store (`PRAGMA user_version`), which shows whether a WAL belongs to the
 * store. It advances by one before and after each checkpoint. So the first page in a WAL names the state of the file
 * that the WAL continues (docs/decisions/0022-logs-and-their-stores.md).
 *
 * The epoch before a checkpoint has a mark, and the one after it has none. So the file has the mark from its checkpoint
 * on, and SQLite takes the mark away when it copies the whole WAL into the file and removes it. A file with the mark
 * lacks what its WAL has (docs/decisions/0056-damaged-logs.md).
 */
export interface Epoch {
  readonly number: number
  readonly hasMark: boolean
}

/** Offset in the header on the first page (https://sqlite.org/fileformat2.html section 1.3). */
const USER_VERSION = 60

/** The mark is the sign. */
const epochOf = (version: number): Epoch => ({ number: Math.abs(version), hasMark: version < 0 })

export const epochOn = (page: Buffer): Epoch => epochOf(page.readInt32BE(USER_VERSION))

const epochIn = (db: DatabaseSync): Epoch => epochOf(Number(db.prepare('PRAGMA user_version').get()?.['user_version']))

/** Advances the epoch. Call it in a transaction of its own. @param hasMark whether a checkpoint follows */
export function advanceEpoch(db: DatabaseSync, hasMark = false): void {
  const next = epochAfter(epochIn(db).number)
  db.exec(`PRAGMA user_version = ${hasMark ? -next : next}`)
}

/**
 * Advances the epoch, which distinguishes the next WAL from all earlier ones. The checkpoint before it copies what a
 * crash has left in the WAL while the file still has its mark.
 */
export function newEpoch(db: DatabaseSync): void {
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    transaction(db, () => advanceEpoch(db))
  } catch (error) {
    // A store without space can still be read.
    if (!isFull(asFull(db, error))) throw error
  }
}

/**
 * Ends a checkpoint that a crash or a full disk has cut off, if one was. Call it before the last connection closes:
 * SQLite then copies the whole WAL and removes it, and a mark at its end would look like a WAL that is lost.
 */
export function endCheckpoint(db: DatabaseSync): void {
  if (epochIn(db).hasMark) newEpoch(db)
}

/** An epoch has 31 bits. It is never 0: that is the user_version of a store without epochs. */
const LAST = 2 ** 31 - 1
/** First epochs are random multiples of STRIDE, so the epochs of two stores are far apart. */
const STRIDE = 2 ** 16

const firstEpoch = (): number => randomInt(1, 2 ** 15) * STRIDE

const epochAfter = (epoch: number): number => (epoch === 0 ? firstEpoch() : epoch === LAST ? 1 : epoch + 1)

/** Gives a copy of a store a first epoch, far from that of its original. Call it inside a transaction of the copy. */
export function renewEpoch(db: DatabaseSync): void {
  const original = epochIn(db).number
  let epoch: number
  do epoch = firstEpoch()
  while (Math.abs(epoch - original) < 2 * STRIDE)
  db.exec(`PRAGMA user_version = ${epoch}`)
}

/** Whether `epoch` may be the one that followed `before`. */
export const follows = (epoch: Epoch, before: Epoch): boolean =>
  before.number === 0 ? epoch.number % STRIDE === 0 : epochAfter(before.number) === epoch.number
