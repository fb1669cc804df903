import type { QueryReader } from '../read/query-reader.ts'
import type { IndexFollower, IndexReport } from '../search-index/index-follower.ts'
import type { SqliteWriter } from '../write/writer.ts'
import type { Task } from './cooperative.ts'
import type { Failure } from './failure.ts'

/** The object whose methods a thread serves. Methods run one after the other. A method may return a task instead. */
export interface Served {
  /** The last call, after the end of every task. */
  close(): void
}

/** The roles of threads, with the object that each serves. */
export interface Roles {
  writer: SqliteWriter
  queries: QueryReader
  index: IndexFollower
}

export interface ThreadData {
  readonly role: keyof Roles
  /** The path of the store. */
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
