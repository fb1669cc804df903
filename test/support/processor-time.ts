// Loaded into each process of `npm test`: notes the processor time of a file of tests, for reporter.ts.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/** The environment variable with the path of the file that has a line `SECONDS FILE` for each file that has ended. */
export const TIMES_VARIABLE = 'PLANTSTORE_TEST_TIMES'

const [, file = ''] = process.argv
const times = process.env[TIMES_VARIABLE]
if (isMainThread && times !== undefined && file.endsWith('.test.ts')) {
  // The processes and threads that the file starts are what they are without this.
  process.execArgv = process.execArgv.filter((arg) => !arg.startsWith('--import='))
  process.on('exit', () => appendFileSync(times, `${seconds().toFixed(2)} ${relative(process.cwd(), file)}\n`))
}

/** The processor time of this process, and on Linux of those that it started, as far as they have ended. */
function seconds(): number {
  const { user, system } = process.cpuUsage()
  const own = (user + system) / 1e6
  if (!existsSync('/proc/self/stat')) return own
  // proc_pid_stat(5): cutime and cstime are members 16 and 17, in hundredths of a second. A name may contain blanks.
  const [, members = ''] = readFileSync('/proc/self/stat', 'latin1').split(/\) (?!.*\) )/s)
  const [cutime, cstime] = members.split(' ').slice(13)
  return own + (Number(cutime) + Number(cstime)) / 100
}
