import { readFileSync } from 'node:fs'

/**
 * The number of connections that leaves enough file descriptors to the store, the log and exports. It is at least half
 * of the process's limit.
 *
 * @param reserve descriptors for all other files; an idle service on SQLite has 36 open
 */
export function descriptorsForConnections(reserve: number): number {
  const limit = openFileLimit()
  return limit - Math.min(reserve, Math.ceil(limit / 2))
}

/** The limit of open files of this process; Infinity where it is unknown. */
function openFileLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // Only Linux has this file. Windows has no such limit, and Node.js raises that of macOS to the maximum.
    return Number.POSITIVE_INFINITY
  }
}
