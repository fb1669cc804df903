import { parentPort, workerData } from 'node:worker_threads'
import { type SqliteFault, sqliteFault } from '../errors.ts'
import { type QueryCalls, QueryReader } from '../read/query-reader.ts'
import { BehindError } from '../search-index/index-behind.ts'
import { DamagedIndex } from '../search-index/index-view.ts'
import type { Task } from './cooperative.ts'

export type QueryRequest =
  | { [M in keyof QueryCalls]: { call: number; method: M; args: Parameters<QueryCalls[M]> } }[keyof QueryCalls]
  /** Leaves a call alone that has not come to its end, and answers nothing. */
  | { cancel: number }
  | 'close'
/** Answers come back in the order in which they are found. */
export type QueryResponse = { call: number } & ({ value: unknown } | Failure)

/** How long one call has the thread for itself while others want it, in milliseconds. */
const TURN = 5
/** Calls that take turns at once; each has a connection. */
const MAX_ACTIVE = 16

const port = parentPort
if (port === null) throw new Error('this file runs as a worker thread')
const reader = new QueryReader((workerData as { path: string }).path)
const active = new Map<number, Task<unknown>>()
const waiting = new Map<number, Task<unknown>>()

port.on('message', (request: QueryRequest) => {
  if (request === 'close') {
    for (const steps of active.values()) steps.return(undefined)
    active.clear()
    waiting.clear()
    reader.close()
    port.close()
  } else if ('cancel' in request) {
    cancel(request.cancel)
  } else {
    begin(request)
  }
})

function begin({ call, method, args }: Extract<QueryRequest, { method: unknown }>): void {
  respond(call, () => {
    const run = reader[method] as (...args: unknown[]) => unknown
    const outcome = run.apply(reader, args)
    if (!isSteps(outcome)) return { value: outcome }
    waiting.set(call, outcome)
    startNext()
  })
}

function startNext(): void {
  if (active.size >= MAX_ACTIVE) return
  for (const [call, steps] of waiting) {
    waiting.delete(call)
    active.set(call, steps)
    takeTurn(call, steps)
    return
  }
}

function cancel(call: number): void {
  if (waiting.delete(call)) return
  const steps = active.get(call)
  if (steps === undefined) return
  active.delete(call)
  steps.return(undefined)
  startNext()
}

function takeTurn(call: number, steps: Task<unknown>): void {
  // It was cancelled or closed meanwhile.
  if (!active.has(call)) return
  const isOver = respond(call, () => {
    const end = performance.now() + TURN
    do {
      const { done, value } = steps.next()
      if (done === true) return { value }
    } while (performance.now() < end)
  })
  if (isOver) {
    active.delete(call)
    startNext()
  } else {
    setImmediate(takeTurn, call, steps)
  }
}

/** Sends what comes of `work`, if it has come to an end. */
function respond(call: number, work: () => { value: unknown } | undefined): boolean {
  try {
    const outcome = work()
    if (outcome === undefined) return false
    port?.postMessage({ call, value: outcome.value } satisfies QueryResponse)
  } catch (error) {
    port?.postMessage({ call, ...failureOf(error) } satisfies QueryResponse)
  }
  return true
}

type Failure =
  | { behind: true }
  | { damagedIndex: { inode: number; message: string } }
  | { fault: SqliteFault }
  | { bug: string }

function failureOf(error: unknown): Failure {
  if (error instanceof BehindError) return { behind: true }
  if (error instanceof DamagedIndex) return { damagedIndex: { inode: error.inode, message: error.message } }
  const fault = sqliteFault(error)
  if (fault !== undefined) return { fault }
  return { bug: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

const isSteps = (outcome: unknown): outcome is Task<unknown> =>
  typeof outcome === 'object' && outcome !== null && 'next' in outcome
