import { parentPort, workerData } from 'node:worker_threads'
import { SqliteWriter } from '../write/writer.ts'
import { WriterHost, type WriterRequest } from './writer-host.ts'

const port = parentPort
if (port === null) throw new Error('this file runs as a worker thread')
const { path } = workerData as { path: string }
const host = new WriterHost(() => new SqliteWriter(path))

// Answers go back in the order of the requests.
port.on('message', (request: WriterRequest) => {
  port.postMessage(host.run(request))
  if (request.method === 'close') port.close()
})
