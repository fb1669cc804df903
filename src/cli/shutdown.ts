import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { NotEnded } from '../domain/errors.ts'
import type { ServiceState } from '../http/answer/responder.ts'
import type { LineWriter } from './log.ts'

/**
 * Milliseconds in which a thread of the store must end whose work a crash may cut off too. Nothing interrupts one call
 * of SQLite, or of Unicode's algorithms, which an operator would have to wait for.
 */
export const CLOSE_TIME = 5000
/** Milliseconds for which the end of the process waits for the reader of the log. */
const LOG_TIMEOUT = 1000

export class Shutdown {
  readonly state: ServiceState = { current: 'serving' }
  readonly #log: Logger
  readonly #lines: readonly LineWriter[]
  readonly #opened = new AsyncDisposableStack()
  #mustKill = false

  /** @param lines in the order in which they are written at last: a fault of the audit log is a line of the log */
  constructor(log: Logger, lines: readonly LineWriter[]) {
    this.#log = log
    this.#lines = lines
  }

  /** Has `close` close a part of the service, before the parts of earlier calls. Its failure stops none of them. */
  closeLater(what: string, close: () => Promise<void>): void {
    this.#opened.defer(async () => {
      try {
        await close()
      } catch (error) {
        this.#log.error({ err: error }, `closing ${what} failed`)
        process.exitCode = 1
        this.#mustKill ||= error instanceof NotEnded
      }
    })
  }

  close(): Promise<void> {
    return this.#opened.disposeAsync()
  }

  /**
   * Stops the service without a failed request. During the drain window it still listens, but reports that it is not
   * ready, and closes each connection after its answer: load balancers and clients then use other instances. After the
   * window, which a service without connections skips, it stops to listen, and closes the store.
   */
  async run(signal: NodeJS.Signals, server: Server, drainWindow: number): Promise<void> {
    this.#log.info({ signal }, 'stopping')
    this.state.current = 'draining'
    if ((await promisify(server.getConnections).call(server)) > 0) await sleep(drainWindow)
    this.state.current = 'closing'
    await this.close()
    this.#log.info('stopped')
    await this.#flush()
    if (this.#mustKill) process.kill(process.pid, 'SIGKILL')
    process.exit()
  }

  /** Ends a service whose store can't continue. Waiting requests get 503, and a supervisor restarts the process. */
  exitOnFatal(error: Error): void {
    this.#log.fatal({ err: error }, 'the store failed; the process exits, and the next start recovers every commit')
    this.state.current = 'closing'
    setTimeout(() => this.#flush().finally(() => process.exit(1)), 200)
  }

  /** Ends a process whose start failed, even where its log has no reader, which would keep it alive. */
  exitWithoutReader(): void {
    setTimeout(() => process.exit(), LOG_TIMEOUT).unref()
  }

  async #flush(): Promise<void> {
    const late = sleep(LOG_TIMEOUT)
    for (const each of this.#lines) await Promise.race([each.flush(), late])
  }
}
