import type { QueryReader } from '../read/query-reader.ts'
import type { IndexFollower, IndexReport } from '../search-index/index-follower.ts'
import type { SqliteWriter } from '../write/writer.ts'
import type { Task } from './cooperative.ts'
import type { Failure } from './failure.ts'

/** What a thread has. Its methods are called one after the other; those that return a task take turns. */
export interface Served {
  /** Called last, after every task has ended. */
  close(): void
}

/** The threads by their names, and what each has. */
export interface Roles {
  writer: SqliteWriter
  queries: QueryReader
  index: IndexFollower
}

export interface ThreadData {
  readonly role: keyof Roles
  /** Of the store. */
  readonly path: string
}

/** The methods of what a thread has. Each resolves with what the method, or its task, returns there. */
export type Remote<T extends Served> = {
  readonly [M in keyof T as Exclude<M, 'close'>]: T[M] extends (...args: infer Args) => infer Value
    ? (...args: Args) => Promise<Value extends Task<infer Result> ? Result : Value>
    : never
}

/** To a thread. An abort leaves a call alone, which is not answered then. */
export type Request =
  | { readonly call: number; readonly method: string; readonly args: readonly unknown[] }
  | { readonly abort: number }

/** From a thread, in the order in which calls end. `progress` belongs to no call. */
export type Reply =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly failure: Failure }
  | { readonly progress: IndexReport }
