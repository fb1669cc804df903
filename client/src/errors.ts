import type { ErrorNumber } from './contract.generated.ts'

interface RefusalDetails {
  readonly status: number
  readonly requestId: string | undefined
  readonly retryAfter: number | undefined
  readonly mayHaveSucceeded: boolean
}

/** A refusal of the service. Decide by `number`; the message is for people. */
export class PlantstoreError extends Error {
  override readonly name = 'PlantstoreError'
  /**
   * The number of the refusal, also one that only a later version of the service has; 0 if the answer is not from the
   * service.
   */
  readonly number: ErrorNumber | 0
  readonly status: number
  /** The id of the request in the service's log. */
  readonly requestId: string | undefined
  /** Seconds to wait before a retry, as the service asks; undefined where a retry does not help. */
  readonly retryAfter: number | undefined
  /** Whether an earlier attempt of the call may have succeeded: its answer was lost, or left the outcome open. */
  readonly mayHaveSucceeded: boolean

  constructor(number: ErrorNumber | 0, message: string, details: RefusalDetails) {
    super(message)
    this.number = number
    this.status = details.status
    this.requestId = details.requestId
    this.retryAfter = details.retryAfter
    this.mayHaveSucceeded = details.mayHaveSucceeded
  }
}

/** The error when all attempts end without a whole answer. A write may or may not be done; calling again is safe. */
export class PlantstoreUnreachable extends Error {
  override readonly name = 'PlantstoreUnreachable'
  /**
   * Whether another program answered in place of the service, such as the portal of a network that asks for a sign-in of
   * its own.
   */
  readonly isForeign: boolean

  constructor(message: string, options?: ErrorOptions, isForeign = false) {
    super(message, options)
    this.isForeign = isForeign
  }
}
