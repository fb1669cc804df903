import { AppError, type ErrorNumber } from '../../domain/errors.ts'
import { errorOfFault, isRowFault, type SqliteFault, sqliteFault } from '../errors.ts'
import { type IndexReport, UnreadyIndex } from '../indexed.ts'
import type { Task } from './cooperative.ts'

/** The object whose methods a thread serves. Methods run one after the other. A method may return a task instead. */
export interface Served {
  /** The last call, after the end of every task. */
  close(): void
}

export interface ThreadData {
  readonly role: 'writer' | 'queries' | 'index'
  readonly path: string
}

/** The methods of a thread's object, for other threads. Each resolves with the result of the method or of its task. */
export type Remote<T extends Served> = {
  readonly [M in keyof T as Exclude<M, 'close'>]: T[M] extends (...args: infer Args) => infer Value
    ? (...args: Args) => Promise<Value extends Task<infer Result> ? Result : Value>
    : never
}

/** A message to a thread. An aborted call gets no answer. */
export type Request =
  | { readonly call: number; readonly method: string; readonly args: readonly unknown[] }
  | { readonly abort: number }

/** A message from a thread. Replies come in the order in which calls end; `progress` belongs to no call. */
export type Reply =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly failure: Failure }
  | { readonly progress: IndexReport }

/** An error in a message to another thread. The structured clone of an Error loses its class and its own members. */
export type Failure =
  | Refusal
  | { readonly failure: 'index'; readonly message: string; readonly inode: number | undefined }
  | { readonly failure: 'bug'; readonly stack: string }

/** A failure that becomes an AppError. */
export type Refusal =
  | { readonly failure: 'refusal'; readonly number: ErrorNumber; readonly message: string }
  | { readonly failure: 'sqlite'; readonly fault: SqliteFault }

/** @returns undefined for an error that may concern more than one plant */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof AppError) return { failure: 'refusal', number: error.number, message: error.message }
  const fault = sqliteFault(error)
  return fault !== undefined && isRowFault(fault) ? { failure: 'sqlite', fault } : undefined
}

/** Makes a message of an error. See `errorOf`. */
export function failureOf(error: unknown): Failure {
  const refusal = refusalOf(error)
  if (refusal !== undefined) return refusal
  if (error instanceof UnreadyIndex) return { failure: 'index', message: error.message, inode: error.inode }
  const fault = sqliteFault(error)
  if (fault !== undefined) return { failure: 'sqlite', fault }
  return { failure: 'bug', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

/** Makes the error again in the thread that receives the message. */
export function errorOf(failure: Refusal): AppError
export function errorOf(failure: Failure): Error
export function errorOf(failure: Failure): Error {
  switch (failure.failure) {
    case 'refusal':
      return new AppError(failure.number, failure.message)
    case 'sqlite':
      return errorOfFault(failure.fault)
    case 'index':
      return new UnreadyIndex(failure.message, failure.inode)
    case 'bug':
      return new Error(failure.stack)
  }
}
