type SqlValue = string | number | bigint | Uint8Array | null

/** A statement that both engines understand, with parameters `$1`, `$2` and so on. */
export type Sql = readonly [text: string, ...values: SqlValue[]]

/** A row by the places of its columns, in the values of any engine: an integer is a bigint or a text. */
export interface SqlRow {
  readonly [column: number]: unknown
}

/**
 * The statements of a transaction, each of which yields its rows. The engine runs them, and may lock rows before. The
 * functions of this folder keep the contracts of the methods with their names, of TokenStore, IdStore and WebhookStore.
 */
export type Steps<Result> = Generator<Sql, Result, readonly SqlRow[]>

/**
 * Repeats the last element of a list until its length is a power of two. SQLite's statements are prepared once for each
 * text, so lists of all lengths would keep thousands of them.
 */
export function padded<T>(list: readonly T[]): readonly T[] {
  const length = list.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(list.length))
  return Array.from({ length }, (_, i) => list[Math.min(i, list.length - 1)] as T)
}
