import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../operator-error.ts'
import { isPassing } from './errors.ts'
import type { Connections } from './pool/pool-share.ts'

/** Between two attempts to reach the database, in ms. */
const INTERVAL = 250
const OLDEST = 150_000

export interface Waiting {
  /** Milliseconds; 0 for one attempt. */
  readonly patience: number
  /** Told once, with the reason, when the first attempt has failed. */
  readonly onWaiting: (reason: string) => void
}

/**
 * Waits until the database can be reached and takes writes.
 *
 * @throws whatever the last attempt threw; at once where waiting would not help, such as with a wrong password
 */
export async function reach(connections: Connections, { patience, onWaiting }: Waiting): Promise<void> {
  const start = performance.now()
  for (let attempt = 1; ; attempt++) {
    try {
      await connections.run({ text: 'SELECT 1' })
      return
    } catch (error) {
      if (!isPassing(error) || performance.now() - start + INTERVAL > patience) throw error
      if (attempt === 1) onWaiting(error instanceof Error ? error.message : String(error))
      await sleep(INTERVAL)
    }
  }
}

/**
 * Looks at the server before anything is made or changed there.
 *
 * @returns what should be known, in words, but does not keep us from working
 * @throws OperatorError when the server is too old, or can't keep every text
 */
export async function preflight({ run }: Connections): Promise<string[]> {
  const { rows } = await run({ text: 'SELECT current_setting(n) FROM unnest($1::text[]) n', values: [SETTINGS] })
  return judge(Object.fromEntries(SETTINGS.map((name, i) => [name, rows[i]?.[0] ?? ''])))
}

const SETTINGS = ['server_version_num', 'server_version', 'server_encoding', 'full_page_writes']

/** What `preflight` does, by the server's settings. */
export function judge(settings: Readonly<Record<string, string>>): string[] {
  const { server_version_num: number, server_version: version, server_encoding: encoding } = settings
  if (Number(number) < OLDEST) throw new OperatorError(`PostgreSQL ${version} is too old; it has to be 15 or newer`)
  if (encoding !== 'UTF8') {
    throw new OperatorError(`the database has the encoding ${encoding}; make one with ENCODING 'UTF8'`)
  }
  if (settings['full_page_writes'] === 'on') return []
  return ['the server has full_page_writes off; unless its file system writes pages whole, a power cut may damage them']
}
