import { DatabaseSync } from 'node:sqlite'
import { plainSql } from '../../base/migrations.ts'
import { shown } from '../../base/printable.ts'
import { makeSchema, schemaOf } from '../open/prepare-file.ts'

/** Characters of a text of SQL beyond which it is not compared. Those of this program have a fraction. */
const MAX_SQL = 16_384

/**
 * Names what a store has besides, or in place of, what the migrations of this program make, and what it lacks. A trigger
 * in a file could keep tokens from being revoked or delete plants, and a view could stand for a table.
 *
 * @param db at a schema that this program knows
 */
export function foreignParts(db: DatabaseSync, max: number): string[] {
  const { applied } = schemaOf(db)
  using fresh = new DatabaseSync(':memory:')
  if (applied > 0) makeSchema(fresh, applied)
  const [found, made] = [partsOf(db), partsOf(fresh)]
  const faults = [...found].flatMap(([name, sql]) => {
    if (!made.has(name)) return [`it has ${name}, which this program does not make`]
    return sql === made.get(name) ? [] : [`${name} is not as this program makes it`]
  })
  const missing = [...made.keys()].filter((name) => !found.has(name)).map((name) => `${name} is missing`)
  return [...missing, ...faults].slice(0, max)
}

/** The tables, indexes, views and triggers of a database, with their SQL; an index that a table implies has none. */
function partsOf(db: DatabaseSync): Map<string, string> {
  const rows = db.prepare(`SELECT type, name, tbl_name, substr(sql, 1, ${MAX_SQL}) AS sql FROM sqlite_schema`).all()
  return new Map(
    rows.map(({ type, name, tbl_name: table, sql }) => {
      const ofTable = type === 'table' ? '' : ` of ${shown(String(table))}`
      return [`the ${String(type)} ${shown(String(name))}${ofTable}`, sql === null ? '' : plainSql(String(sql))]
    }),
  )
}
