import { readFileSync } from 'node:fs'

/**
 * How many connections the process can have open while its store, its log and its exports still can open files.
 *
 * @param reserve open files that connections leave to the process itself: a service on SQLite has 36 when it is idle.
 *   Connections get at least half of the limit
 */
export function descriptorsForConnections(reserve: number): number {
  const limit = openFileLimit()
  return limit - Math.min(reserve, Math.ceil(limit / 2))
}

/** How many files this process may have open; Infinity where that is not known. */
function openFileLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // Only Linux has this file. Windows has no such limit, and macOS one that Node raises to the most there is.
    return Number.POSITIVE_INFINITY
  }
}
