import { randomInt } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'

/**
 * The mark: a number on the first page of the store (`PRAGMA user_version`), by which a log is known to be the store's own.
 *
 * It goes up by one, in a transaction of its own, before a log is folded into the file and after, so that the first page of
 * a log names the state of the file that it goes on from (docs/decisions/0022-logs-and-their-stores.md). Called inside of that transaction.
 */
export function advanceMark(db: DatabaseSync): void {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: bigint }
  db.exec(`PRAGMA user_version = ${markAfter(Number(user_version))}`)
}

/** Marks are 31 bits and never 0, which is that of a store without marks. */
const LAST = 2 ** 31 - 1
/** First marks are multiples, at random, so that those of two stores are far from one another. */
const STRIDE = 2 ** 16

const firstMark = (): number => randomInt(1, 2 ** 15) * STRIDE

const markAfter = (mark: number): number => {
  if (mark === 0) return firstMark()
  return mark === LAST ? 1 : mark + 1
}

/** Gives a copy of a store a first mark of its own, far from that of its original. Called inside a transaction of the copy. */
export function renewMark(db: DatabaseSync): void {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: bigint }
  let mark: number
  do mark = firstMark()
  while (Math.abs(mark - Number(user_version)) < 2 * STRIDE)
  db.exec(`PRAGMA user_version = ${mark}`)
}

/** Whether `mark` may be the one that was written after `before`. */
export const follows = (mark: number, before: number): boolean =>
  before === 0 ? mark !== 0 && mark % STRIDE === 0 : markAfter(before) === mark
