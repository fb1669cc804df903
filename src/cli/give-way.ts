import { existsSync, readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** The nice value of a process that yields to the service. 19 is the lowest priority. */
const NICE = 10

/**
 * Makes the operating system prefer a service to this process. Linux has a priority for each thread (setpriority(2),
 * NOTES), and a thread inherits the priority of the thread that starts it.
 */
export function giveWayToServices(): void {
  for (const thread of threads()) {
    try {
      setPriority(thread, Math.max(getPriority(thread), NICE))
    } catch {
      // The thread has ended, or the system forbids the change.
    }
  }
}

/** The threads of this process where the system has them as files; elsewhere the process itself. */
function threads(): number[] {
  const folder = '/proc/self/task'
  return existsSync(folder) ? readdirSync(folder).map(Number) : [process.pid]
}
