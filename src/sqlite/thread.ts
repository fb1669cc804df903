import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'
import type { ThreadData } from './worker/protocol.ts'
import { serve } from './worker/serve.ts'

/**
 * Added to the nice value of the process: the thread gets a third of another thread's share. 15 gave no more creates.
 */
const NICE_INCREMENT = 5
const MAX_NICE = 19

/**
 * Makes the operating system prefer all other threads to this one, for good: only a privileged process may take it
 * back. Only Linux has a priority for each thread (setpriority(2), NOTES), so other systems ignore the call.
 *
 * A batch of the search index takes 50 ms of processor time. On a busy machine the event loop waited for it
 * (docs/decisions/0027-change-log-and-search-index.md).
 */
function giveWayToOtherThreads(): void {
  if (process.platform !== 'linux') return
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, Math.min(MAX_NICE, getPriority() + NICE_INCREMENT))
  } catch {
    // The system has no /proc or forbids the change, so the thread keeps the priority of its process.
  }
}

/** Starts a thread. It loads only the modules of the thread's role. */
async function start({ role, path }: ThreadData): Promise<void> {
  if (role === 'writer') {
    const { SqliteWriter } = await import('./write/writer.ts')
    serve(() => new SqliteWriter(path))
  } else if (role === 'queries') {
    const { QueryReader } = await import('./read/query-reader.ts')
    serve(() => new QueryReader(path))
  } else {
    const { IndexFollower } = await import('./search-index/index-follower.ts')
    serve((report) => new IndexFollower(path, report, giveWayToOtherThreads))
  }
}

void start(workerData as ThreadData)
