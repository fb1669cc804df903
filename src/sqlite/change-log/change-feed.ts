import {
  type ChangeEntry,
  type ChangeLogUse,
  type ChangePage,
  type ChangeRequest,
  type ChangeType,
  entryOf,
  HISTORY_LENGTH,
  hasType,
  MAX_NEWEST_SEEN,
  NewestEntries,
  type NewestPage,
  type NewestRequest,
  otherHistory,
  positionGone,
  readPosition,
  selected,
  writePosition,
} from '../../domain/changes.ts'
import { covers } from '../../domain/part.ts'
import type { NewPlant } from '../../domain/plant.ts'
import { plantAt, type SqliteRow, type StatementCache } from '../rows.ts'
import type { Task } from '../worker/cooperative.ts'
import { Turn } from '../worker/cooperative.ts'
import { ACTION } from './action-reader.ts'
import { createRow, plantBefore, plantsAfter, unpack } from './change-reader.ts'
import { bytesOf } from './change-writer.ts'

/** Entries that one read looks at: about 0.2 s of work. */
const MAX_SEEN = 20_000
/** Hexadecimal digits of a number in the log, and of the time of its row. */
const NUMBER_LENGTH = 14
const TIME_LENGTH = 4

const COLUMNS = `position, at, kind, ids, name, tag, plants, token, created, ${ACTION}`
const OF_ACTION = `SELECT ${COLUMNS} FROM action_rows JOIN changes USING (position)
  WHERE action = (SELECT number FROM actions WHERE id = ?) AND position > ? ORDER BY position`

const BACKWARDS = `SELECT ${COLUMNS} FROM changes WHERE position <= ? ORDER BY position DESC`
const ROW_FROM = 'SELECT position FROM changes WHERE position >= ? ORDER BY position LIMIT 1'
const LATER = `SELECT tag FROM changes INDEXED BY changes_of_plant WHERE kind <> 'create' AND ids = ? AND position > ?
  ORDER BY position DESC`

interface LogRow {
  readonly position: number
  readonly at: number
  readonly kind: string
  readonly ids: BigInt64Array
  readonly before: NewPlant | undefined
  readonly texts: unknown
  readonly token: string
  readonly created: number | undefined
  readonly action: string | undefined
}

/** Reads the log of changes as a ChangeLog does. Call its methods inside a read transaction of the store. */
export class ChangeFeed {
  readonly #statements: StatementCache
  readonly #history: string

  constructor(statements: StatementCache, identity: Uint8Array) {
    this.#statements = statements
    this.#history = historyIn(identity)
  }

  end(): string {
    const newest = this.#statements.get('SELECT position, at FROM changes ORDER BY position DESC LIMIT 1')
    return newest === undefined ? this.#positionOf(0, 0) : this.#positionOf(Number(newest[0]), Number(newest[1]))
  }

  *read({ after, limit, action, ...filter }: ChangeRequest): Task<ChangePage> {
    const entries: ChangeEntry[] = []
    let seen = 0
    const turn = new Turn()
    let last = this.#after(after)
    let next = after ?? this.#positionOf(last, 0)
    const rows =
      action === undefined
        ? this.#statements.iterate(`SELECT ${COLUMNS} FROM changes WHERE position > ? ORDER BY position`, last)
        : this.#statements.iterate(OF_ACTION, action, last)
    for (const raw of rows) {
      const row = rowOf(raw)
      // The plants of such a row need no read.
      if (filter.part === undefined && !hasType(filter, typeOf(row))) {
        if (++seen > MAX_SEEN) return { entries, next, isEnd: false }
        last = row.position
        next = this.#positionOf(last, row.at)
        if (turn.isOver()) yield
        continue
      }
      for (const entry of this.#entriesOf(row, last)) {
        if (entries.length === limit || seen === MAX_SEEN) return { entries, next, isEnd: false }
        seen++
        const own = selected(filter, entry)
        if (own !== undefined) entries.push(own)
        next = entry.position
        if (turn.isOver()) yield
      }
      last = row.position
    }
    return { entries, next, isEnd: true }
  }

  history(id: bigint, before: string | undefined, limit: number): ChangeEntry[] {
    const blob = new Uint8Array(new BigInt64Array([id]).buffer)
    const until = before === undefined ? Number.MAX_SAFE_INTEGER : this.#numberOf(before, this.#begin())
    const entries: ChangeEntry[] = []
    const add = (entry: ChangeEntry) => entries.push(entry) === limit
    let created = this.#createdAfter(id, blob, until)
    const addCreate = () => {
      const create = created === undefined ? undefined : this.#create(id, created)
      return create !== undefined && create.number < until && add(create.entry)
    }
    const sql = `SELECT ${COLUMNS} FROM changes INDEXED BY changes_of_plant
      WHERE kind <> 'create' AND ids = ? AND position < ? ORDER BY position DESC`
    for (const raw of this.#statements.iterate(sql, blob, until)) {
      const row = rowOf(raw)
      const isDelete = row.kind === 'delete'
      if (isDelete && addCreate()) return entries
      if (add(this.#entry(row, row.position, plantsAfter(row.ids, row.texts)[0]))) return entries
      if (isDelete) created = row.created
    }
    addCreate()
    return entries
  }

  *newest(request: NewestRequest): Task<NewestPage> {
    const { of, before, limit } = request
    const until = before === undefined ? Number.MAX_SAFE_INTEGER : this.#numberOf(before, this.#begin())
    const since = numberOr(this.#statements.get('SELECT at FROM changes ORDER BY position LIMIT 1')?.[0])
    // The row of the position may have earlier entries.
    const top = numberOr(this.#statements.get(ROW_FROM, until)?.[0]) ?? until
    const newest = new NewestEntries(request)
    const entries: ChangeEntry[] = []
    const turn = new Turn()
    let seen = 0
    let next: string | undefined
    for (const raw of this.#statements.iterate(BACKWARDS, top)) {
      const row = rowOf(raw)
      const first = row.position - row.ids.length + 1
      // No create leaves a plant deleted, so the plants of such a row need no read.
      const plants = of === 'deleted' && row.kind === 'create' ? [undefined] : plantsAfter(row.ids, row.texts)
      for (let i = plants.length - 1; i >= 0; i--) {
        if (first + i >= until) continue
        if (entries.length === limit || seen >= MAX_NEWEST_SEEN) return { entries, next, since }
        seen++
        const entry = this.#entry(row, first + i, plants[i])
        next = entry.position
        const own = newest.candidate(entry)
        if (turn.isOver(request.words.length > 0 ? textOf(entry) : 0)) yield
        if (own === undefined) continue
        const { isNewest, passed } = yield* this.#isNewest(request, row.ids[i] ?? 0n, row.position, turn)
        if (isNewest) entries.push(own)
        seen += passed
      }
    }
    return { entries, next: undefined, since }
  }

  usage(): ChangeLogUse {
    const ends = 'SELECT position, bytes, at, length(ids), name, tag, plants FROM changes ORDER BY position'
    const [first, last] = [this.#statements.get(`${ends} LIMIT 1`), this.#statements.get(`${ends} DESC LIMIT 1`)]
    if (first === undefined || last === undefined) return { entries: 0, bytes: 0, oldest: undefined }
    const ids = Number(first[3]) / 8
    return {
      entries: Number(last[0]) - Number(first[0]) + ids,
      bytes: Number(last[1]) - Number(first[1]) + bytesOf(ids, textIn(first[4]), textIn(first[5]), textIn(first[6])),
      oldest: Number(first[2]),
    }
  }

  /**
   * Whether a part has no change of a plant behind a row: each begins with the plant of before, and after the last one the
   * plant is as it is stored. Passes the changes of a plant that has left the part.
   */
  *#isNewest(
    { of, part }: NewestRequest,
    id: bigint,
    position: number,
    turn: Turn,
  ): Task<{ isNewest: boolean; passed: number }> {
    const stored = of === 'deleted' ? plantAt(this.#statements, id) : undefined
    let passed = 0
    if (stored !== undefined && covers(part, stored.tag)) return { isNewest: false, passed }
    const blob = new Uint8Array(new BigInt64Array([id]).buffer)
    for (const { 0: tag } of this.#statements.iterate(LATER, blob, position)) {
      if (of === 'stored' || covers(part, textIn(tag) ?? undefined)) return { isNewest: false, passed }
      passed++
      if (turn.isOver()) yield
    }
    return { isNewest: true, passed }
  }

  /** The number of the change before the oldest row. */
  #begin(): number {
    const oldest = this.#statements.get('SELECT position, length(ids) FROM changes ORDER BY position LIMIT 1')
    return oldest === undefined ? 0 : Number(oldest[0]) - Number(oldest[1]) / 8
  }

  #after(position: string | undefined): number {
    const begin = this.#begin()
    if (position === undefined) return begin
    const number = this.#numberOf(position, begin)
    if (number < begin) throw positionGone(this.#positionOf(begin, 0))
    return number
  }

  /** @throws AppError 40003, and 41001 for a position of another history */
  #numberOf(position: string, begin: number): number {
    const { history, place } = readPosition(position)
    const number = Number.parseInt(place.slice(0, NUMBER_LENGTH), 16)
    const isOwn =
      history === this.#history &&
      place.length === NUMBER_LENGTH + TIME_LENGTH &&
      this.#has(number, place.slice(NUMBER_LENGTH))
    if (!isOwn) throw otherHistory(this.#positionOf(begin, 0))
    return number
  }

  /** Whether the log has, or had, a change with this number and time. A file that was put back has others. */
  #has(number: number, time: string): boolean {
    const sql = 'SELECT position, at, length(ids) FROM changes WHERE position >= ? ORDER BY position LIMIT 1'
    const row = this.#statements.get(sql, number)
    if (row === undefined) return number === 0
    const begin = Number(row[0]) - Number(row[2]) / 8
    return number <= begin || timeText(Number(row[1])) === time
  }

  #positionOf(number: number, at: number): string {
    const place = number.toString(16).padStart(NUMBER_LENGTH, '0') + timeText(at)
    return writePosition({ history: this.#history, place })
  }

  *#entriesOf(row: LogRow, after: number): Iterable<ChangeEntry> {
    const begin = row.position - row.ids.length
    for (const [i, plant] of plantsAfter(row.ids, row.texts).entries()) {
      if (begin + i >= after) yield this.#entry(row, begin + i + 1, plant)
    }
  }

  #entry(row: LogRow, number: number, plant: NewPlant | undefined): ChangeEntry {
    return entryOf(this.#positionOf(number, row.at), row.at, row.before, plant, row.token, row.action)
  }

  /** The `created` of the plant that has the id before a number: of its next delete, or of the stored plant. */
  #createdAfter(id: bigint, blob: Uint8Array, number: number): number | undefined {
    const deleted = `SELECT created FROM changes INDEXED BY changes_of_plant WHERE kind <> 'create' AND kind = 'delete'
      AND ids = ? AND position >= ? ORDER BY position LIMIT 1`
    const row =
      this.#statements.get(deleted, blob, number) ?? this.#statements.get('SELECT created FROM plants WHERE id = ?', id)
    return numberOr(row?.[0])
  }

  /** Finds the create of a plant. @returns undefined when the log has it no more */
  #create(id: bigint, created: number): { number: number; entry: ChangeEntry } | undefined {
    const found = createRow(this.#statements, id, created)
    const raw = found && this.#statements.get(`SELECT ${COLUMNS} FROM changes WHERE position = ?`, found.position)
    if (found === undefined || raw === undefined) return undefined
    const row = rowOf(raw)
    const number = row.position - row.ids.length + found.index + 1
    return { number, entry: this.#entry(row, number, plantsAfter(row.ids, row.texts)[found.index]) }
  }
}

const historyIn = (identity: Uint8Array): string => Buffer.from(identity).toString('hex').slice(0, HISTORY_LENGTH)

/** The number in the log of a position; undefined for one of another store than the one with this identity. */
export function numberIn(position: string, identity: Uint8Array): number | undefined {
  const { history, place } = readPosition(position)
  return history === historyIn(identity) ? Number.parseInt(place.slice(0, NUMBER_LENGTH), 16) : undefined
}

function rowOf(row: SqliteRow): LogRow {
  const ids = unpack(row[3])
  return {
    position: Number(row[0]),
    at: Number(row[1]),
    kind: row[2] as string,
    ids,
    before: plantBefore(ids, row[4], row[5]),
    texts: row[6],
    token: row[7] as string,
    created: numberOr(row[8]),
    action: textIn(row[9]) ?? undefined,
  }
}

const typeOf = ({ kind }: LogRow): ChangeType =>
  kind === 'create' ? 'plant.created' : kind === 'delete' ? 'plant.deleted' : 'plant.updated'

const textOf = ({ plant, before }: ChangeEntry): number => {
  const { name, tag = '' } = plant ?? before ?? { name: '' }
  return name.length + tag.length
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const numberOr = (value: unknown): number | undefined => (typeof value === 'bigint' ? Number(value) : undefined)

const timeText = (at: number): string => (at % 2 ** 16).toString(16).padStart(TIME_LENGTH, '0')
