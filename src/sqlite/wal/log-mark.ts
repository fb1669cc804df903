import { randomInt } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'

/**
 * Advances the mark: a number on the first page of the store (`PRAGMA user_version`), which shows whether a log belongs
 * to the store. Call it in a transaction of its own.
 *
 * The mark advances by one before and after each checkpoint. So the first page in a log names the state of the file
 * that the log continues (docs/decisions/0022-logs-and-their-stores.md).
 */
export function advanceMark(db: DatabaseSync): void {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: bigint }
  db.exec(`PRAGMA user_version = ${markAfter(Number(user_version))}`)
}

/** A mark has 31 bits. It is never 0: that is the user_version of a store without marks. */
const LAST = 2 ** 31 - 1
/** First marks are random multiples of STRIDE, so the marks of two stores are far apart. */
const STRIDE = 2 ** 16

const firstMark = (): number => randomInt(1, 2 ** 15) * STRIDE

const markAfter = (mark: number): number => {
  if (mark === 0) return firstMark()
  return mark === LAST ? 1 : mark + 1
}

/**
 * Gives a copy of a store a first mark, far from the mark of its original. Call it inside a transaction of the copy.
 */
export function renewMark(db: DatabaseSync): void {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: bigint }
  let mark: number
  do mark = firstMark()
  while (Math.abs(mark - Number(user_version)) < 2 * STRIDE)
  db.exec(`PRAGMA user_version = ${mark}`)
}

/** Whether `mark` may be the one that followed `before`. */
export const follows = (mark: number, before: number): boolean =>
  before === 0 ? mark !== 0 && mark % STRIDE === 0 : markAfter(before) === mark
