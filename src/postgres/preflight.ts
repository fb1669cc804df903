import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../base/operator-error.ts'
import { isPassing } from './errors.ts'
import type { PoolShare } from './pool/pool-share.ts'

/** Milliseconds between two attempts to reach the database. */
const INTERVAL = 250
/** The oldest supported server_version_num: PostgreSQL 15. */
const OLDEST = 150_000

export interface RetryOptions {
  /** Milliseconds for which to retry; 0 for a single attempt. */
  readonly retryTime: number
  /** Called once, with the reason, after the first attempt has failed. */
  readonly onWaiting: (reason: string) => void
}

/**
 * Waits until the database can be reached and takes writes.
 *
 * @throws the error of the last attempt. An error that a retry can not change, such as a wrong password, ends the wait
 */
export async function waitForDatabase(share: PoolShare, { retryTime, onWaiting }: RetryOptions): Promise<void> {
  const start = performance.now()
  for (let attempt = 1; ; attempt++) {
    try {
      await share.run({ text: 'SELECT 1' })
      return
    } catch (error) {
      if (!isPassing(error) || performance.now() - start + INTERVAL > retryTime) throw error
      if (attempt === 1) onWaiting(error instanceof Error ? error.message : String(error))
      await sleep(INTERVAL)
    }
  }
}

/**
 * Checks the server before the store creates or changes anything there.
 *
 * @returns warnings for the operator
 * @throws OperatorError when the server is too old, or its encoding can not hold every text
 */
export async function preflight({ run }: PoolShare): Promise<string[]> {
  const { rows } = await run({ text: 'SELECT current_setting(n) FROM unnest($1::text[]) n', values: [SETTINGS] })
  return judge(Object.fromEntries(SETTINGS.map((name, i) => [name, rows[i]?.[0] ?? ''])))
}

const SETTINGS = ['server_version_num', 'server_version', 'server_encoding', 'full_page_writes']

/** Judges the settings of a server. See `preflight`. */
export function judge(settings: Readonly<Record<string, string>>): string[] {
  const { server_version_num: number, server_version: version, server_encoding: encoding } = settings
  if (Number(number) < OLDEST) throw new OperatorError(`PostgreSQL ${version} is too old; it must be 15 or newer`)
  if (encoding !== 'UTF8') {
    throw new OperatorError(`the database has the encoding ${encoding}; create one with ENCODING 'UTF8'`)
  }
  if (settings['full_page_writes'] === 'on') return []
  return ['the server has full_page_writes off; unless its file system writes pages whole, a power cut may damage them']
}
