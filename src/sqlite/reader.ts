import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { AppError } from '../errors.ts'
import type { NewPlant } from '../plant.ts'
import { importResult } from '../plant-change.ts'
import {
  comparePositions,
  isByName,
  isDescending,
  matches,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  positionOf,
} from '../plant-query.ts'
import type { ImportMode, ImportResult, TagCount } from '../store.ts'
import { openReader } from './connection.ts'
import { plantOf } from './rows.ts'

const PAGE = 1000

/** Reads of plants on one connection. */
export class SqliteReader {
  readonly #db: DatabaseSync

  constructor(path: string) {
    this.#db = openReader(path)
  }

  list(query: PlantQuery, limit: number): NewPlant[] {
    const { order, after } = query
    const sign = isDescending(order) ? ['<', 'DESC'] : ['>', 'ASC']
    const byId = after !== undefined && !isByName(order)
    const select = this.#db.prepare(
      `SELECT id, name, tag FROM plants ${byId ? `WHERE id ${sign[0]} ?` : ''} ORDER BY id ${sign[1]}`,
    )
    const found: NewPlant[] = []
    for (const row of select.iterate(...(byId ? [after.id] : []))) {
      const plant = plantOf(row)
      if (!matches(query, plant)) continue
      if (isByName(order) && after !== undefined && comparePositions(order, positionOf(order, plant), after) <= 0)
        continue
      found.push(plant)
      if (!isByName(order) && found.length >= limit) break
    }
    if (!isByName(order)) return found
    return found
      .map((plant) => ({ plant, position: positionOf(order, plant) }))
      .sort((a, b) => comparePositions(order, a.position, b.position))
      .slice(0, limit)
      .map(({ plant }) => plant)
  }

  tags(after: string | undefined, limit: number): TagCount[] {
    const select = this.#db.prepare(
      `SELECT tag, count(*) AS plants FROM plants WHERE tag ${after === undefined ? 'IS NOT NULL' : '> ?'}
       GROUP BY tag ORDER BY tag LIMIT ?`,
    )
    return select
      .all(...(after === undefined ? [] : [after]), limit)
      .map((row) => ({ tag: String(row['tag']), plants: Number(row['plants']) }))
  }

  begin(): void {
    this.#db.exec('BEGIN')
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}

/** An export: a connection of its own with a read transaction, which sees the plants as they were at its start. */
export class SqliteExport {
  readonly #reader: SqliteReader
  readonly #query: PlantFilter & { order: PlantOrder }
  #after: PlantQuery['after']

  constructor(path: string, filter: PlantFilter, order: PlantOrder) {
    this.#reader = new SqliteReader(path)
    this.#query = { ...filter, order }
    this.#reader.begin()
  }

  next(): NewPlant[] {
    const page = this.#reader.list({ ...this.#query, after: this.#after }, PAGE)
    const last = page.at(-1)
    if (last !== undefined) this.#after = positionOf(this.#query.order, last)
    return page
  }

  close(): void {
    this.#reader.close()
  }
}

/** A tried import: the plants that it would have stored lie in a temporary table, whatever their number. */
export class SqliteTrial {
  readonly #db: DatabaseSync
  readonly #mode: ImportMode
  readonly #select: StatementSync
  readonly #put: StatementSync

  constructor(path: string, mode: ImportMode) {
    this.#db = openReader(path)
    this.#mode = mode
    this.#db.exec(`PRAGMA temp_store = FILE;
      CREATE TEMP TABLE tried (id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT, WITHOUT ROWID`)
    this.#select = this.#db.prepare(
      `SELECT id, name, tag FROM temp.tried WHERE id = ?1
       UNION ALL SELECT id, name, tag FROM main.plants WHERE id = ?1 LIMIT 1`,
    )
    this.#put = this.#db.prepare('INSERT OR REPLACE INTO temp.tried (id, name, tag) VALUES (?, ?, ?)')
  }

  try(plants: readonly NewPlant[]): ImportResult[] {
    return plants.map((plant) => {
      const row = this.#select.get(plant.id)
      const result = importResult(this.#mode, plant, row === undefined ? undefined : plantOf(row))
      if (!(result instanceof AppError)) this.#put.run(plant.id, plant.name, plant.tag ?? null)
      return result
    })
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}
