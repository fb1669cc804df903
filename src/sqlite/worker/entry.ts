import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { isFatal } from '../errors.ts'
import type { IndexReport } from '../search-index/index-file.ts'
import { type Task, TaskRunner } from './cooperative.ts'
import { type Failure, failureOf, type Reply, type Request, type Served, type ThreadData } from './protocol.ts'

/**
 * Answers the calls of the thread that started this one.
 *
 * @param open makes the object for the first call. When it throws, that call fails, and the thread continues
 */
export function serve(open: (report: (progress: IndexReport) => void) => Served): void {
  const port = parentPort
  if (port === null) throw new Error('this file runs as a worker thread')
  const post = (reply: Reply) => port.postMessage(reply)
  let served: Served | undefined
  /**
   * The first fault after which the file can't be trusted; every later call fails with it. A later fsync that succeeds
   * proves nothing. So the thread must not commit a group that the client sent before it knew of the fault.
   */
  let broken: Failure | undefined

  const fail = (call: number, error: unknown) => {
    const failure = failureOf(error)
    if (failure.failure === 'sqlite' && isFatal(failure.fault)) broken = failure
    post({ call, failure })
  }
  const tasks = new TaskRunner({ onResult: (call, value) => post({ call, value }), onError: fail })

  port.on('message', (request: Request) => {
    if ('abort' in request) {
      tasks.abort(request.abort)
      return
    }
    const { call, method, args } = request
    try {
      if (method === 'close') {
        tasks.close()
        served?.close()
        post({ call, value: undefined })
      } else if (broken !== undefined) {
        post({ call, failure: broken })
      } else {
        served ??= open((progress) => post({ progress }))
        const outcome: unknown = Reflect.apply(Reflect.get(served, method), served, args)
        if (isTask(outcome)) tasks.add(call, outcome)
        else post({ call, value: outcome })
      }
    } catch (error) {
      fail(call, error)
    }
    if (method === 'close') port.close()
  })
}

const isTask = (outcome: unknown): outcome is Task<unknown> =>
  typeof outcome === 'object' && outcome !== null && 'next' in outcome

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
