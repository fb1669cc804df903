import { Worker } from 'node:worker_threads'
import type { ThreadData } from './protocol.ts'

/** Starts thread.ts in a thread. packaging/executable/start-thread.ts replaces this module in the one-file program. */
export function startThread(workerData: ThreadData): Worker {
  return new Worker(new URL('../thread.ts', import.meta.url), { workerData })
}
