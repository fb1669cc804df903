import { parentPort, workerData } from 'node:worker_threads'
import { BehindError } from './behind.ts'
import { type SqliteFault, sqliteFault } from './errors.ts'
import { type ReaderCalls, SqliteReader } from './reader.ts'
import type { Steps } from './steps.ts'

export type ReaderRequest =
  | { [M in keyof ReaderCalls]: { call: number; method: M; args: Parameters<ReaderCalls[M]> } }[keyof ReaderCalls]
  | 'close'
/** Answers come back in the order in which they are found. */
export type ReaderResponse = { call: number } & (
  | { value: unknown }
  | { behind: number }
  | { fault: SqliteFault }
  | { bug: string }
)

/** How long one call has the thread for itself while others want it, in milliseconds. */
const TURN = 5
/** Calls that take turns at once; each has a connection. */
const MAX_ACTIVE = 16

const port = parentPort
if (port === null) throw new Error('this file runs as a worker thread')
const reader = new SqliteReader((workerData as { path: string }).path)
const active = new Set<Steps<unknown>>()
const waiting: { call: number; steps: Steps<unknown> }[] = []

port.on('message', (request: ReaderRequest) => {
  if (request === 'close') {
    for (const steps of active) steps.return(undefined)
    active.clear()
    waiting.length = 0
    reader.close()
    port.close()
  } else {
    begin(request)
  }
})

function begin({ call, method, args }: Exclude<ReaderRequest, 'close'>): void {
  respond(call, () => {
    const run = reader[method] as (...args: unknown[]) => unknown
    const outcome = run.apply(reader, args)
    if (!isSteps(outcome)) return { value: outcome }
    waiting.push({ call, steps: outcome })
    startNext()
  })
}

function startNext(): void {
  if (active.size >= MAX_ACTIVE) return
  const next = waiting.shift()
  if (next === undefined) return
  active.add(next.steps)
  takeTurn(next.call, next.steps)
}

function takeTurn(call: number, steps: Steps<unknown>): void {
  // It was closed meanwhile.
  if (!active.has(steps)) return
  const isOver = respond(call, () => {
    const end = performance.now() + TURN
    do {
      const { done, value } = steps.next()
      if (done === true) return { value }
    } while (performance.now() < end)
  })
  if (isOver) {
    active.delete(steps)
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
    port?.postMessage({ call, value: outcome.value } satisfies ReaderResponse)
  } catch (error) {
    port?.postMessage({ call, ...failureOf(error) } satisfies ReaderResponse)
  }
  return true
}

function failureOf(error: unknown): { behind: number } | { fault: SqliteFault } | { bug: string } {
  if (error instanceof BehindError) return { behind: error.plants }
  const fault = sqliteFault(error)
  if (fault !== undefined) return { fault }
  return { bug: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

const isSteps = (outcome: unknown): outcome is Steps<unknown> =>
  typeof outcome === 'object' && outcome !== null && 'next' in outcome
