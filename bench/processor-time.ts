import { openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import type { PostgresServer } from '../test/support/postgres-server.ts'

/** Whether the system reports the processor time of other processes: only Linux does. */
export const canTellProcessorTime = process.platform === 'linux'

/** Milliseconds of processor time that these servers have used, with their sessions, ended ones included. */
export function databaseTime(servers: readonly PostgresServer[]): number {
  const pids = servers.map(({ pid }) => String(pid))
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${pid}/stat`)
    // Without the first two fields, as the second one may have blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const isServer = pids.includes(pid)
    if (!isServer && !pids.includes(fields[PARENT] ?? '')) continue
    const times = isServer ? [...OWN_TIMES, ...TIMES_OF_ENDED] : OWN_TIMES
    ticks += times.reduce((total, at) => total + Number(fields[at]), 0)
  }
  return ticks * 10
}

/**
 * Returns a clock of the processor time of this thread, in milliseconds. `process.threadCpuUsage()` counts in units of
 * 10 ms on some systems.
 */
export function threadClock(): () => number {
  if (!canTellProcessorTime) return () => performance.now()
  const file = openSync('/proc/thread-self/schedstat', 'r')
  const text = Buffer.alloc(64)
  return () => Number(text.toString('latin1', 0, readSync(file, text, { position: 0 })).split(' ')[0]) / 1e6
}

/** Fields of proc_pid_stat(5), less the first two: ppid; utime and stime; cutime and cstime. */
const PARENT = 1
const OWN_TIMES = [11, 12]
const TIMES_OF_ENDED = [13, 14]

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
