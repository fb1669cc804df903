import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/**
 * Added to the nice value of the process: the thread gets a third of another thread's share. 15 gave no more creates.
 */
const NICE_INCREMENT = 5
const MAX_NICE = 19

/**
 * Makes the operating system prefer all other threads to this one. Only Linux has a priority for each thread
 * (setpriority(2), NOTES), so other systems ignore the call.
 *
 * A batch of the search index takes 50 ms of processor time. On a busy machine the event loop waited for it
 * (docs/decisions/0027-change-log-and-search-index.md).
 */
export function giveWayToOtherThreads(): void {
  if (process.platform !== 'linux') return
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, Math.min(MAX_NICE, getPriority() + NICE_INCREMENT))
  } catch {
    // The system has no /proc or forbids the change, so the thread keeps the priority of its process.
  }
}
