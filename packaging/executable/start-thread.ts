import { getAsset } from 'node:sea'
import { Worker } from 'node:worker_threads'
import type { ThreadData } from '../../src/sqlite/worker/protocol.ts'

let code: string | undefined

/** Replaces src/sqlite/worker/start-thread.ts in the one-file program, where no file has the code of a thread. */
export function startThread(workerData: ThreadData): Worker {
  code ??= getAsset('thread.js', 'utf8')
  return new Worker(code, { eval: true, workerData })
}
