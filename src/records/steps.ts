type SqlValue = string | number | bigint | Uint8Array | null

/** A statement that both engines understand, with parameters `$1`, `$2` and so on. */
type Sql = readonly [text: string, ...values: SqlValue[]]

/** A row by the places of its columns, in the values of any engine: an integer is a bigint or a text. */
export interface Row {
  readonly [column: number]: unknown
}

/** The statements of a transaction, each of which yields its rows. The engine runs them, and may lock rows before. */
export type Steps<Result> = Generator<Sql, Result, readonly Row[]>
