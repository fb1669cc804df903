import type { AppError } from '../../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { ReadTurns } from './read-turns.ts'
import type { SharedTurns } from './shared-turns.ts'

/** The callbacks of a connection for its requests. */
export interface ConnectionHandlers {
  /** Answers a request. */
  readonly work: (exchange: Exchange) => void
  /** Refuses a request that can't be read to its end. */
  readonly refuse: (exchange: Exchange, refusal: AppError) => void
  /** Logs and counts a refusal of bytes that are no request. @returns its id */
  readonly note: (refusal: AppError, address: string | undefined) => string
}

/** The parts that all connections share. */
export interface Shared {
  readonly handlers: ConnectionHandlers
  /** The turns in which connections read. */
  readonly reading: ReadTurns
  /** The turns in which waiting requests begin. */
  readonly working: SharedTurns
  /** Called with the bytes of requests that begin to wait, parsed or not, and with minus the bytes that leave. */
  readonly account: (bytes: number) => void
}
