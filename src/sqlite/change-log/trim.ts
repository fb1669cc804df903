import { FORGET_TIMES, NEWEST_AT, type SteadyClock } from '../../records/steady-clock.ts'
import { owedPositions } from '../../records/webhooks.ts'
import { ownText, runSteps, type StatementCache } from '../rows.ts'
import { trimActions } from './action-writer.ts'
import { numberIn } from './change-feed.ts'
import { identityIn } from './change-reader.ts'

/** Bounds of the rows that one transaction trims, which takes up to 10 ms: SQLite reads each page that it frees. */
const MAX_TRIMMED = 500
const MAX_TRIMMED_BYTES = 2 ** 20

export interface Keep {
  /** Milliseconds. */
  readonly time: number
  readonly bytes: number
}

const NEWEST = 'SELECT bytes FROM changes ORDER BY position DESC LIMIT 1'
const OLDEST = 'SELECT position, bytes FROM changes WHERE position < ? ORDER BY position LIMIT ?'

/**
 * Removes the oldest rows that lie before a position and are not kept. Rows that an active webhook has not delivered are
 * never too old, but may be too many. @returns whether more may remain
 */
export function trimChanges(statements: StatementCache, clock: SteadyClock, position: number, keep: Keep): boolean {
  const old = keep.time === 0 ? position : oldPosition(statements, clock, keep.time)
  const newest = Number(statements.get(NEWEST)?.[0] ?? 0)
  let last: bigint | undefined
  let first: number | undefined
  for (const { 0: end, 1: bytes } of statements.iterate(OLDEST, position, MAX_TRIMMED)) {
    if (Number(end) > old && newest - Number(bytes) < keep.bytes) break
    first ??= Number(bytes)
    if (last !== undefined && Number(bytes) - first > MAX_TRIMMED_BYTES) break
    last = end as bigint
  }
  if (last === undefined) return false
  statements.run('DELETE FROM changes WHERE position <= ?', last)
  trimActions(statements, last)
  return true
}

/** The position up to which all rows are too old. */
function oldPosition(statements: StatementCache, clock: SteadyClock, time: number): number {
  const since = runSteps(statements, clock.now()) - time
  const old = Number(statements.get(ownText(NEWEST_AT), since)?.[0] ?? 0)
  if (old === 0) return 0
  statements.run(ownText(FORGET_TIMES), since)
  const identity = identityIn(statements)
  const owed = runSteps(statements, owedPositions()).map((each) => numberIn(each, identity) ?? old)
  return Math.min(old, ...owed)
}
