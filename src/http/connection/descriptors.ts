import { readFileSync } from 'node:fs'

/**
 * Most connections that leave enough descriptors to the store, the log and exports.
 *
 * @param reserve descriptors for the process itself: an idle service on SQLite has 36 open. Connections get at least
 *   half of the limit
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
    // Only Linux has this file. Windows has no such limit, and macOS one that Node raises to the most there is.
    return Number.POSITIVE_INFINITY
  }
}
