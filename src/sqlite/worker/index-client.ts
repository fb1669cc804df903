import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { IndexReport, IndexRequest } from './index-thread.ts'

/** Who makes the search index follow the log of changes. */
export interface Follower {
  /** Told that there are changes to index, and whether they are to be indexed at once: else others may come together with them. */
  wake(isUrgent: boolean): void
  /** Makes the index anew, as a reader found a fault in the file with this inode. */
  remake(inode: number, why: string): void
  /** Ends what is under way and lets go of the index. */
  close(): Promise<void>
}

export interface FollowerEvents {
  onReport(report: IndexReport): void
  /** Called once when it has ended without being asked to. */
  onEnd(why: string): void
}

/** An Indexer in a thread of its own. */
export class IndexClient implements Follower {
  readonly #worker: Worker
  readonly #events: FollowerEvents
  #isOver = false

  constructor(path: string, events: FollowerEvents) {
    this.#events = events
    this.#worker = new Worker(new URL('./index-thread.ts', import.meta.url), { workerData: { path } })
    this.#worker.on('message', (report: IndexReport) => {
      if (!this.#isOver) events.onReport(report)
    })
    this.#worker.on('error', (error) => this.#end(error instanceof Error ? error.message : String(error)))
    this.#worker.on('exit', () => this.#end('its thread ended'))
    // It holds up nobody's end: what it leaves undone is done after the next start.
    this.#worker.unref()
  }

  wake(isUrgent: boolean): void {
    this.#send({ isUrgent })
  }

  remake(inode: number, why: string): void {
    this.#send({ remake: { inode, why } })
  }

  async close(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#worker.ref()
    const exit = once(this.#worker, 'exit')
    this.#send('close')
    await exit
  }

  #send(request: IndexRequest): void {
    this.#worker.postMessage(request)
  }

  #end(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#events.onEnd(why)
  }
}
