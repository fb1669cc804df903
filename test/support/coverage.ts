import { Session } from 'node:inspector/promises'
import type { TestContext } from 'node:test'
import { cleanUp } from './clean-up.ts'

const SOURCES = new URL('../../src/', import.meta.url).href

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly { startOffset: number; count: number }[] }[]
  }[]
}

/** Sends a command of the inspector to one thread. */
type Post = (method: string, parameters?: object) => Promise<unknown>

/** Finds the files in src whose functions run, on the event loop and in running threads. */
export class SourceCoverage {
  readonly #threads: readonly Post[]

  private constructor(threads: readonly Post[]) {
    this.#threads = threads
  }

  static async start(t: TestContext): Promise<SourceCoverage> {
    const session = new Session()
    session.connect()
    cleanUp(t, () => session.disconnect())
    const threads: Post[] = [(method, parameters) => session.post(method, parameters)]
    session.on('NodeWorker.attachedToWorker', ({ params: { sessionId } }) => {
      threads.push(postTo(session, sessionId))
    })
    await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false })
    for (const post of threads) {
      await post('Profiler.enable')
      await post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    }
    return new SourceCoverage(threads)
  }

  /** Returns the files that run in every round of `work`. This leaves out files that only a timer runs. */
  async filesOf(work: (round: number) => Promise<void>, rounds: number): Promise<Set<string>> {
    let files: Set<string> | undefined
    for (let round = 0; round < rounds; round++) {
      await this.#take()
      await work(round)
      const ran = await this.#take()
      files = files?.intersection(ran) ?? ran
    }
    return files ?? new Set()
  }

  /** Returns the files whose functions have run since the last call. Loading a module does not count. */
  async #take(): Promise<Set<string>> {
    const files = new Set<string>()
    for (const post of this.#threads) {
      const { result } = (await post('Profiler.takePreciseCoverage')) as Coverage
      for (const { url, functions } of result) {
        if (!url.startsWith(SOURCES)) continue
        const hasRun = functions.some(({ ranges }) => (ranges[0]?.startOffset ?? 0) > 0 && (ranges[0]?.count ?? 0) > 0)
        if (hasRun) files.add(url.slice(SOURCES.length))
      }
    }
    return files
  }
}

function postTo(session: Session, sessionId: string): Post {
  let last = 0
  const waiting = new Map<number, (result: unknown) => void>()
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    if (params.sessionId !== sessionId) return
    const { id, result } = JSON.parse(params.message) as { id: number; result: unknown }
    waiting.get(id)?.(result)
    waiting.delete(id)
  })
  return async (method, params = {}) => {
    const id = ++last
    const result = new Promise((resolve) => waiting.set(id, resolve))
    await session.post('NodeWorker.sendMessageToWorker', {
      sessionId,
      message: JSON.stringify({ id, method, params }),
    })
    return result
  }
}
