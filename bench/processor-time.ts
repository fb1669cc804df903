import { readdirSync, readFileSync } from 'node:fs'
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
