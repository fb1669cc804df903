import { parentPort } from 'node:worker_threads'
import { isFatal } from '../errors.ts'
import type { IndexReport } from '../indexed.ts'
import { type Task, TaskRunner } from './cooperative.ts'
import { type Failure, failureOf, type Reply, type Request, type Served } from './protocol.ts'

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
  typeof outcome === 'object' && outcome !== null && 'next' in outcome && typeof outcome.next === 'function'
