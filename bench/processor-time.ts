import { readdirSync, readFileSync } from 'node:fs'

/** Whether the system reports the processor time of other processes: only Linux does. */
export const canTellProcessorTime = process.platform === 'linux'

/** Milliseconds of processor time that all processes named postgres have used, ended ones included. */
export function databaseTime(): number {
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${pid}/stat`)
    if (!stat.includes('(postgres)')) continue
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // utime, stime, cutime and cstime: fields 14 to 17 of proc_pid_stat(5). `fields` lacks the first two.
    ticks += [11, 12, 13, 14].reduce((total, at) => total + Number(fields[at]), 0)
  }
  return ticks * 10
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
