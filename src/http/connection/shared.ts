import type { AppError } from '../../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { ReadTurns } from './read-turns.ts'
import type { SharedTurns } from './shared-turns.ts'

/** What a connection does with its requests. */
export interface ConnectionHandlers {
  /** Answers a request. */
  readonly work: (exchange: Exchange) => void
  /** Answers a request that can't be read to its end. */
  readonly refuse: (exchange: Exchange, refusal: AppError) => void
  /** Takes note of a refusal of bytes that are no request, and gives it an id. */
  readonly note: (refusal: AppError, address: string | undefined) => string
}

/** What all connections share. */
export interface Shared {
  readonly handlers: ConnectionHandlers
  /** Whose turn it is to be read. */
  readonly reading: ReadTurns
  /** In which the requests that waited behind others are begun. */
  readonly working: SharedTurns
  /** Told of bytes that waiting requests take, parsed or not, and, below 0, that they take no more. */
  readonly hold: (bytes: number) => void
}
