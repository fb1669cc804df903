import { Worker } from 'node:worker_threads'
import type { ThreadData } from './protocol.ts'

/** Starts entry.ts in a thread. packaging/executable/start-thread.ts replaces this module in the one-file program. */
export function startThread(workerData: ThreadData): Worker {
  return new Worker(new URL('./entry.ts', import.meta.url), { workerData })
}
