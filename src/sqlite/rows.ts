import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { ImportedPlant, NewPlant } from '../domain/plant.ts'
import type { Steps } from '../records/steps.ts'

/** A row as an array of its columns, which Node.js declares as an object. */
export interface SqliteRow {
  readonly [column: number]: SQLOutputValue
}

export type Statement = readonly [sql: string, ...values: SQLInputValue[]]

/** Prepares each query of a connection once. Returns rows as arrays in the order of their columns. */
export class StatementCache {
  readonly #db: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  get(sql: string, ...values: SQLInputValue[]): SqliteRow | undefined {
    return this.#statement(sql).get(...values)
  }

  all(sql: string, ...values: SQLInputValue[]): SqliteRow[] {
    return this.#statement(sql).all(...values)
  }

  run(sql: string, ...values: SQLInputValue[]): bigint {
    return BigInt(this.#statement(sql).run(...values).changes)
  }

  /** Two iterations of the same text must not overlap: they would share one prepared statement. */
  iterate(sql: string, ...values: SQLInputValue[]): IterableIterator<SqliteRow> {
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

/** The text of a statement of src/records/ with SQLite's own parameters. */
export const ownText = (text: string): string => text.replaceAll('$', '?')

export function runSteps<T>(statements: Pick<StatementCache, 'all'>, steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) {
    const [text, ...values] = step.value
    step = steps.next(statements.all(ownText(text), ...values))
  }
  return step.value
}

/** Makes a plant of a row of id, name and tag. node:sqlite reads an array in two thirds of the time of an object. */
export function plantOf({ 0: id, 1: name, 2: tag }: SqliteRow): NewPlant {
  return { id: id as bigint, name: name as string, tag: (tag as string | null) ?? undefined }
}

/** The plant with this id. */
export function plantAt(statements: StatementCache, id: bigint): NewPlant | undefined {
  const row = statements.get('SELECT id, name, tag FROM plants WHERE id = ?', id)
  return row && plantOf(row)
}

/** Plants as arrays, for a message to another thread: 0.15 µs of processor time each, where objects take 0.45 µs. */
export type PlantColumns = ReturnType<typeof columnsOf>

export const columnsOf = (plants: readonly ImportedPlant[]) => ({
  ids: plants.map(({ id }) => id),
  names: plants.map(({ name }) => name),
  tags: plants.map(({ tag }) => tag),
  befores: plants.map(({ before }) => before),
})

export const plantsOf = ({ ids, names, tags, befores }: PlantColumns): ImportedPlant[] =>
  ids.map((id, i) => {
    const plant = { id, name: names[i] ?? '', tag: tags[i] }
    const before = befores[i]
    return before === undefined ? plant : { ...plant, before }
  })
