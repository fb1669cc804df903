import { appErrorOf, isFatal } from '../errors.ts'
import type { WriterResponse } from '../worker/writer-host.ts'
import type { WriterCalls } from './writer.ts'

/** A writer, wherever it runs. */
export interface WriterPort {
  /**
   * Runs one method of the writer; resolves after its commit.
   *
   * @throws AppError 50301 when the outcome can't be known, 50304 when there is no space
   */
  call<M extends keyof WriterCalls>(method: M, ...args: Parameters<WriterCalls[M]>): Promise<ReturnType<WriterCalls[M]>>

  /** Closes the database, after the calls that were made before. */
  close(): Promise<void>
}

/**
 * What a call returned.
 *
 * @param onFatal told of a fault after which the file can't be trusted
 * @throws AppError as the fault was; Error for one of our own faults
 */
export function outcomeOf(response: WriterResponse, onFatal: (error: Error) => void): unknown {
  if ('value' in response) return response.value
  if ('bug' in response) throw new Error(response.bug)
  const error = appErrorOf(response.fault)
  if (isFatal(response.fault)) onFatal(error)
  throw error
}
