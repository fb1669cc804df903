import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** How much nicer than its process the thread is: a third of the share of another thread. 15 gave no more creates. */
const NICER = 5
const NICEST = 19

/**
 * Makes the operating system prefer all other threads to this one. Only Linux has a priority for each thread
 * (setpriority(2), NOTES); elsewhere nothing happens.
 *
 * A batch of the search index takes 50 ms of processor time, for which the event loop waited on a machine with other work
 * (docs/decisions/0027-change-log-and-search-index.md).
 */
export function giveWayToOtherThreads(): void {
  if (process.platform !== 'linux') return
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, Math.min(NICEST, getPriority() + NICER))
  } catch {
    // Without /proc, or where the system forbids it, the thread works like all others.
  }
}
