import type { SQLInputValue } from 'node:sqlite'
import { findFreeRange, type IdRange, joinRanges, KEY_TIME, later, MAX_FORGOTTEN } from '../../domain/id-store.ts'
import type { Row, StatementCache } from '../rows.ts'

/** Who reserves ids. `at` is in milliseconds since 1970. */
export interface IdRequest {
  readonly key: Uint8Array | undefined
  readonly at: number
  readonly actor: string
}

/** See IdStore.reserveIds. Call it inside a transaction of the writer. */
export function reserveIds(statements: StatementCache, count: number, request: IdRequest): IdRange | undefined {
  const { key, at } = request
  const [known] = key === undefined ? [] : ranges(statements, 'key = ? AND at > ?', key, at - KEY_TIME)
  if (known !== undefined) return known
  forget(statements, `key IS NOT NULL AND at <= ? ORDER BY at LIMIT ${MAX_FORGOTTEN}`, at - KEY_TIME)
  const range = findFree(statements, count)
  if (range === undefined) return undefined
  addReservation(statements, range, request)
  if (key === undefined) join(statements, [range])
  return range
}

/** See IdStore.addReservation. Call it inside a transaction of the writer. */
export function addReservation(statements: StatementCache, range: IdRange, { key, at, actor }: IdRequest): void {
  const { first, last } = range
  const within = 'first_id > ?1 AND first_id <= ?2 AND last_id <= ?2'
  statements.run(`DELETE FROM id_reservations WHERE ${within}`, first, last)
  if (key !== undefined) forget(statements, 'key = ? AND first_id <> ?', key, first)
  statements.run(PUT, first, last, key ?? null, at, actor)
}

const PUT = `INSERT INTO id_reservations (first_id, last_id, key, at, actor) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (first_id) DO UPDATE SET last_id = excluded.last_id, key = excluded.key, at = excluded.at, actor = excluded.actor
  WHERE excluded.last_id >= id_reservations.last_id`

/** Takes the keys from the reservations that meet a condition, and joins them with their neighbours. */
function forget(statements: StatementCache, condition: string, ...values: SQLInputValue[]): void {
  const old = ranges(statements, condition, ...values)
  for (const { first } of old) statements.run('UPDATE id_reservations SET key = NULL WHERE first_id = ?', first)
  join(statements, old)
}

/** Joins ranges without a key with their neighbours. */
function join(statements: StatementCache, own: readonly IdRange[]): void {
  const beside = 'key IS NULL AND first_id IN (?2, (SELECT max(first_id) FROM id_reservations WHERE first_id < ?1))'
  const near = own.flatMap(({ first, last }) => ranges(statements, beside, first, last + 1n))
  const { grown, gone } = joinRanges([...own, ...near])
  for (const first of gone) statements.run('DELETE FROM id_reservations WHERE first_id = ?', first)
  for (const { first, last } of grown)
    statements.run('UPDATE id_reservations SET last_id = ? WHERE first_id = ?', last, first)
}

function ranges(statements: StatementCache, condition: string, ...values: SQLInputValue[]): IdRange[] {
  return statements.all(`SELECT first_id, last_id FROM id_reservations WHERE ${condition}`, ...values).map(rangeOf)
}

const rangeOf = ({ 0: first, 1: last }: Row): IdRange => ({ first: first as bigint, last: last as bigint })

/** Finds free ids. @returns undefined when no range of this length is free */
export function findFree(rows: Pick<StatementCache, 'all'>, count: number): IdRange | undefined {
  const search = findFreeRange(count)
  let step = search.next()
  while (step.done !== true) {
    const end = step.value
    const [plant, reserved] = [PLANT, RESERVED].map((sql) => rows.all(sql, end).map(rangeOf)[0])
    step = search.next(later(plant, reserved))
  }
  return step.value
}

const PLANT = 'SELECT id, id FROM plants WHERE id >= 1 AND id < ? ORDER BY id DESC LIMIT 1'
const RESERVED = 'SELECT first_id, last_id FROM id_reservations WHERE first_id < ? ORDER BY first_id DESC LIMIT 1'
