import { counted } from '../../printable.ts'
import type { CheckedPart } from '../../upkeep.ts'
import type { StatementCache } from '../statement-cache.ts'

/** Bytes of an id in a row of the log. */
const ID = 8
/** Most faults to name. */
const MOST_NAMED = 20

/** Checks the log of changes: each position is that of the row before plus the changes of its own row. */
export function checkChanges(statements: StatementCache): CheckedPart {
  const faults: string[] = []
  let rows = 0
  let last: number | undefined
  const sql = 'SELECT position, kind, length(ids), name IS NULL FROM changes ORDER BY position'
  for (const { 0: at, 1: kind, 2: bytes, 3: isNameless } of statements.iterate(sql)) {
    const position = Number(at)
    const ids = Number(bytes) / ID
    const isCreate = kind === 'create'
    // Only a created plant has no state before.
    const isWhole = Number.isInteger(ids) && (isCreate ? ids > 0 : ids === 1) && (isNameless === 1n) === isCreate
    if (!isWhole) faults.push(`position ${position}: its row is not that of a ${kind}`)
    else if (last !== undefined && position !== last + ids) {
      faults.push(`position ${position}: ${last + ids} was due, after ${last}`)
    }
    last = position
    rows++
    if (faults.length === MOST_NAMED) break
  }
  return {
    part: 'changes',
    found: last === undefined ? 'none yet' : `${counted(rows, 'row')}, up to position ${last}`,
    faults,
  }
}
