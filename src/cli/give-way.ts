import { readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** The nice value of a process that yields to the service. 19 is the lowest priority. */
const NICE = 10

/**
 * Makes the operating system prefer a service to this process. Linux has a priority for each thread (setpriority(2),
 * NOTES), which threads take over from those that start them.
 */
export function giveWayToServices(): void {
  try {
    const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid]
    for (const thread of threads) setPriority(thread, Math.max(getPriority(thread), NICE))
  } catch {
    // The system has no /proc or forbids the change, so the process keeps its priority.
  }
}
