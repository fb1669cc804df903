import { workerData } from 'node:worker_threads'
import type { ThreadData } from './protocol.ts'
import { serve } from './serve.ts'
import { giveWayToOtherThreads } from './thread-priority.ts'

/** Starts a thread. It loads only the modules of the thread's role. */
async function start({ role, path }: ThreadData): Promise<void> {
  if (role === 'writer') {
    const { SqliteWriter } = await import('../write/writer.ts')
    serve(() => new SqliteWriter(path))
  } else if (role === 'queries') {
    const { QueryReader } = await import('../read/query-reader.ts')
    serve(() => new QueryReader(path))
  } else {
    giveWayToOtherThreads()
    const { IndexFollower } = await import('../search-index/index-follower.ts')
    serve((report) => new IndexFollower(path, report))
  }
}

void start(workerData as ThreadData)
