import { randomBytes } from 'node:crypto'
import { HISTORY_LENGTH } from '../../domain/changes.ts'
import type { Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'

/**
 * What opening a store does to its history. `keep`: begins one if there is none. `end`: removes it. `follow`: leaves it,
 * and logs changes if there is one.
 */
export type HistoryUse = 'keep' | 'end' | 'follow'

/**
 * Opens the history of the log of changes. A history whose table was made again, as pg_restore does, or is in another
 * database, is of another past: it begins anew. Ticks have marks, which detect that files were restored below it.
 *
 * @returns whether writes belong into the log
 */
export async function openHistory(share: PoolShare, use: HistoryUse): Promise<boolean> {
  const state = await stateOf(share.run)
  if (state === 'none' && (use === 'follow' || use === 'end')) return false
  if (state === 'own' && use !== 'end') return true
  return share.transaction('BEGIN', async (run) => {
    // Two instances that start at once begin one history.
    await run({ text: 'LOCK TABLE change_history IN ACCESS EXCLUSIVE MODE' })
    if (use !== 'end' && (await stateOf(run)) === 'own') return true
    await run({ text: NO_HISTORY })
    if (use !== 'end') await begin(run)
    return use !== 'end'
  })
}

async function stateOf(run: Run): Promise<'none' | 'own' | 'foreign'> {
  const [[isOwn = null] = []] = (await run({ text: STATE })).rows
  return isOwn === null ? 'none' : isOwn === 't' ? 'own' : 'foreign'
}

export const NO_HISTORY = 'TRUNCATE change_history, change_ticks, change_plants, changes, actions, action_rows'

async function begin(run: Run): Promise<void> {
  const identity = randomBytes(HISTORY_LENGTH / 2).toString('hex')
  await run({ text: `INSERT INTO change_history SELECT $1, ${ORIGIN}`, values: [identity] })
  await run({ text: FIRST_TICK })
  // They had ticks of the history before.
  await run({ text: 'UPDATE steady_times SET newest = 0' })
}

const ORIGIN = `(SELECT concat_ws(' ', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()),
  'change_history'::regclass::oid) FROM pg_control_system())`
const STATE = `SELECT bool_and(origin = ${ORIGIN}) FROM change_history`
const FIRST_TICK = `INSERT INTO change_ticks
  VALUES (0, floor(random() * 2147483647), clock_timestamp(), 0, 0, pg_current_snapshot())`
