import { parentPort, workerData } from 'node:worker_threads'
import { isFatal, type SqliteFault, sqliteFault } from './errors.ts'
import { SqliteWriter, type WriterCalls } from './writer.ts'

/** What the main thread sends: a method of the writer and its arguments. Answers come back in the same order. */
export type WriterRequest = {
  [M in keyof WriterCalls]: { method: M; args: Parameters<WriterCalls[M]> }
}[keyof WriterCalls]
export type WriterResponse = { value: unknown } | { fault: SqliteFault } | { bug: string }

const port = parentPort
if (port === null) throw new Error('this file runs as a worker thread')
let writer: SqliteWriter | undefined
/**
 * Set for good by a fault after which the file can't be trusted: a later fsync that succeeds proves nothing then, so a
 * group that was sent before anybody knew must not be committed and acknowledged.
 */
let broken: SqliteFault | undefined

port.on('message', (request: WriterRequest) => {
  port.postMessage(answer(request))
  if (request.method === 'close') port.close()
})

function answer({ method, args }: WriterRequest): WriterResponse {
  try {
    if (method === 'close' && writer === undefined) return { value: undefined }
    if (method !== 'close' && broken !== undefined) return { fault: broken }
    // Opened by the first call, so that a store that can't be opened is an answer and not a dead thread.
    writer ??= new SqliteWriter((workerData as { path: string }).path)
    const call = writer[method] as (...args: unknown[]) => unknown
    return { value: call.apply(writer, args) }
  } catch (error) {
    const fault = sqliteFault(error)
    if (fault !== undefined && isFatal(fault)) broken = fault
    return fault === undefined
      ? { bug: error instanceof Error ? (error.stack ?? error.message) : String(error) }
      : { fault }
  }
}
