import { Worker } from 'node:worker_threads'
import type { ThreadData } from './protocol.ts'

/** Starts entry.ts in a thread. Where the whole program is one file, packaging/executable/start-thread.ts is in its place. */
export function startThread(workerData: ThreadData): Worker {
  return new Worker(new URL('./entry.ts', import.meta.url), { workerData })
}
