import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'

/**
 * A row as an array of its columns. Node.js declares such rows as objects, so this type has only an index signature.
 */
export interface Row {
  readonly [column: number]: SQLOutputValue
}

/** Prepares each query of a connection once. Returns rows as arrays in the order of their columns. */
export class StatementCache {
  readonly #db: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values)
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values)
  }

  /** @returns the number of changed rows */
  run(sql: string, ...values: SQLInputValue[]): bigint {
    return BigInt(this.#statement(sql).run(...values).changes)
  }

  /** Two iterations of the same text must not overlap: they would share one prepared statement. */
  iterate(sql: string, ...values: SQLInputValue[]): IterableIterator<Row> {
    return this.#statement(sql).iterate(...values)
  }

  #statement(sql: string): StatementSync {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    const statement = this.#db.prepare(sql)
    statement.setReturnArrays(true)
    this.#prepared.set(sql, statement)
    return statement
  }
}
