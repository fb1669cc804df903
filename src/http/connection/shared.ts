import type { AppError } from '../../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { ReadTurns } from './read-turns.ts'
import type { SharedTurns } from './shared-turns.ts'

/** The handler of a connection's requests. */
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
  /** Called with the bytes of waiting requests, parsed or not; below 0 when they no longer wait. */
  readonly hold: (bytes: number) => void
}
