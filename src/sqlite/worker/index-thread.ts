import { parentPort, workerData } from 'node:worker_threads'
import { type SqliteFault, sqliteFault } from '../errors.ts'
import { IndexFault } from '../search-index/index-fault.ts'
import { Indexer, type IndexProgress } from '../search-index/indexer.ts'

export type IndexRequest =
  /** There are changes to index, at once or when more have come together. */
  { readonly isUrgent: boolean } | { readonly remake: { readonly inode: number; readonly why: string } } | 'close'
export type IndexReport =
  /** What a step has done, and how long it took in milliseconds. */
  | { readonly progress: IndexProgress; readonly time: number }
  /** The index will never again be further back than this position. */
  | { readonly durable: number }
  /** A step failed; the next ones are tried. */
  | { readonly fault: string }
  /** The store could not be read. */
  | { readonly storeFault: SqliteFault }

/**
 * How long changes are gathered, in milliseconds: many together take half the time of few. From so many on they are indexed
 * at once.
 */
const NAP = 200
const SHORT_NAP = 50
const MANY = 4000
/** How often it is made sure that the index is on stable storage, so that the log of changes can be trimmed. */
const SYNC_INTERVAL = 2000
/** How soon a step that failed is tried again: twice as long each further time. */
const FIRST_RETRY = 1000
const LAST_RETRY = 60_000

const port = parentPort
if (port === null) throw new Error('this file runs as a worker thread')
const indexer = new Indexer((workerData as { path: string }).path)
let next: NodeJS.Timeout | undefined
/** When the next step is due. */
let dueAt = Number.POSITIVE_INFINITY
let retry = FIRST_RETRY
let position = 0
let durable = 0
let syncedAt = performance.now()

const report = (message: IndexReport): void => port.postMessage(message)

port.on('message', (request: IndexRequest) => {
  if (request === 'close') {
    clearTimeout(next)
    indexer.close()
    port.close()
  } else if ('remake' in request) {
    indexer.remake(request.remake.inode, request.remake.why)
    schedule(0)
  } else if (retry === FIRST_RETRY) schedule(request.isUrgent ? 0 : NAP)
})

/** Has a step follow after so many milliseconds, if none is due sooner. */
function schedule(time: number): void {
  if (performance.now() + time >= dueAt) return
  clearTimeout(next)
  dueAt = performance.now() + time
  next = setTimeout(work, time)
}

function work(): void {
  dueAt = Number.POSITIVE_INFINITY
  try {
    const startedAt = performance.now()
    const progress = indexer.step()
    report({ progress, time: performance.now() - startedAt })
    position = progress.position
    retry = FIRST_RETRY
    syncIfDue()
    schedule(pauseAfter(progress))
  } catch (error) {
    fail(error)
    schedule(retry)
    retry = Math.min(retry * 2, LAST_RETRY)
  }
}

/** How long to wait before the next step, if nobody wakes the thread sooner. */
function pauseAfter({ isDone, behind, share, indexed }: IndexProgress): number {
  if (!isDone) return behind < MANY && share === 1 ? NAP : 0
  // Another process may be writing, of which nobody tells.
  if (indexed > 0) return indexed < MANY ? NAP : SHORT_NAP
  return durable < position ? SYNC_INTERVAL : Number.POSITIVE_INFINITY
}

function syncIfDue(): void {
  if (position === durable || performance.now() - syncedAt < SYNC_INTERVAL) return
  indexer.sync()
  syncedAt = performance.now()
  durable = position
  report({ durable })
}

function fail(error: unknown): void {
  const storeFault = error instanceof IndexFault ? undefined : sqliteFault(error)
  if (storeFault !== undefined) report({ storeFault })
  else report({ fault: error instanceof Error ? error.message : String(error) })
}

schedule(0)
