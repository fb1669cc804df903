import type { ServerResponse } from 'node:http'
import type { Identity } from './auth.ts'
import type { Operation } from './contract.ts'
import type { Incoming } from './incoming.ts'

/** One request and the response to it, with what is found out about the request on its way to the handler. */
export class Exchange {
  readonly request: Incoming
  readonly response: ServerResponse
  /** `performance.now()` when the headers had arrived. */
  readonly startedAt = performance.now()
  /** Undefined until the router has found one. */
  operation: Operation | undefined = undefined
  /** By their names in the contract, percent-decoded. */
  pathParameters: PathParameters = NO_PARAMETERS
  identity: Identity | undefined = undefined
  /** Names and values in turn. */
  rateLimitHeaders: readonly string[] | undefined = undefined

  constructor(request: Incoming, response: ServerResponse) {
    this.request = request
    this.response = response
  }
}

export type PathParameters = Readonly<Record<string, string | undefined>>

const NO_PARAMETERS: PathParameters = {}
