import {
  type Action,
  type ActionQuery,
  actionGone,
  decideUndo,
  type Fate,
  type Follower,
  type LeftPlant,
  leftPlant,
  MOST_FOLLOWERS,
  noAction,
  type UndoStep,
} from '../../domain/actions.ts'
import { type ChangeEntry, type ChangePage, type ChangeRequest, selected } from '../../domain/changes.ts'
import { isEqual, type NewPlant } from '../../domain/plant.ts'
import type { Run, TextRow } from '../pool/client.ts'
import { bigintArray, byId, plantIn } from '../rows.ts'
import type { Author } from './action-names.ts'
import type { Swap } from './log-rows.ts'
import { TICK_OF } from './log-sql.ts'
import { entriesOf, headOf, isEndOfTick, makeTick, positionOf } from './read-rows.ts'

export async function listActions(run: Run, query: ActionQuery, limit: number): Promise<readonly Action[]> {
  const { token, since = 0, after } = query
  const values = [since, after?.began ?? Number.MAX_SAFE_INTEGER, after?.id ?? '', limit]
  const statement =
    token === undefined
      ? { name: 'list-actions', text: list(''), values }
      : { name: 'list-actions-of-token', text: list('token = $5 AND '), values: [...values, token] }
  return (await run(statement)).rows.map(readAction)
}

export async function getAction(run: Run, id: string): Promise<Action | undefined> {
  const [row] = (await run({ name: 'get-action', text: GET, values: [id] })).rows
  return row && readAction(row)
}

function readAction([id, title, token, began, undoes, undoneBy, ended, created, updated, deleted]: TextRow): Action {
  const counts = { created: Number(created), updated: Number(updated), deleted: Number(deleted) }
  const times = { began: Number(began), ended: Number(ended) }
  const texts = { title: title ?? undefined, undoes: undoes ?? undefined, undoneBy: undoneBy ?? undefined }
  return { id: id ?? '', token: token ?? '', ...texts, ...times, ...counts }
}

/**
 * What an action has changed: its sums, which go as far as the last tick, and its rows since. A tick comes after some
 * hundred commits, so a list reads no more of actions with 20,000 rows than of those with 20. Actions from before sums
 * are added up here. OFFSET 0 and LATERAL leave the planner nothing but nested loops.
 */
const RECENT = `WITH recent AS MATERIALIZED (SELECT row.*
    FROM (SELECT snapshot FROM change_ticks ORDER BY tick DESC LIMIT 1) AS last
    CROSS JOIN LATERAL (SELECT action, number FROM changes_between(last.snapshot, pg_current_snapshot())
      WHERE action IS NOT NULL OFFSET 0) AS change
    CROSS JOIN LATERAL (SELECT action, at, created, updated, deleted FROM action_rows
      WHERE action_rows.action = change.action AND action_rows.number = change.number OFFSET 0) AS row)`
const hasChanges = (id: string): string => `(SELECT true FROM action_rows WHERE action = ${id} LIMIT 1)`
const SUMS = `CROSS JOIN LATERAL (SELECT round(extract(epoch FROM max(at)) * 1000), sum(created), sum(updated), sum(deleted)
  FROM (SELECT ended AS at, created, updated, deleted FROM action_sums WHERE action = actions.id
    UNION ALL SELECT at, created, updated, deleted FROM recent WHERE action = actions.id AND is_summed
    UNION ALL SELECT at, created, updated, deleted FROM action_rows WHERE action = actions.id AND NOT is_summed) AS part
  HAVING ${hasChanges('actions.id')}) AS sums`
const COLUMNS = `actions.id, title, token, began, undoes,
  (SELECT id FROM actions AS undo WHERE undo.undoes = actions.id AND ${hasChanges('undo.id')}
    ORDER BY began DESC LIMIT 1) AS undone_by, sums.*`
/** @param which begins a condition */
const list = (which: string): string => `${RECENT} SELECT ${COLUMNS} FROM actions ${SUMS}
  WHERE ${which}began >= $1::bigint AND (began, actions.id) < ($2::bigint, $3::text)
  ORDER BY began DESC, actions.id DESC LIMIT $4`
const GET = `${RECENT} SELECT ${COLUMNS} FROM actions ${SUMS} WHERE id = $1`

/** Rows of the log, and changes in them, that one step of an undo takes; at least one row. */
const STEP_ROWS = 250
const STEP_CHANGES = 1000

/** The changes of a plant in one row of the log. */
interface RowChange {
  readonly id: bigint
  readonly number: bigint
  readonly before: NewPlant | undefined
  readonly after: NewPlant | undefined
}

export interface PlannedStep extends UndoStep {
  /** What to write: the plants to restore, each as one change of the undo. */
  readonly swaps: readonly Swap[]
  /** The number of the last row that the step has gone back to. */
  readonly reached: bigint
}

/**
 * Decides a step of an undo (ActionLog.undo), inside the transaction that writes it.
 *
 * @param from the number of the row below which the step begins; undefined for the first
 * @param author who undoes; without an action for a dry run
 * @param read returns the plants of these ids that exist, and locks them where the step writes
 */
export async function planUndo(
  run: Run,
  action: string,
  from: string | undefined,
  author: Author,
  read: (wanted: readonly { readonly id: bigint }[]) => Promise<NewPlant[]>,
): Promise<PlannedStep> {
  const undoId = author.action?.id
  const [head] = (await run({ name: 'undo-head', text: HEAD, values: [action, undoId ?? null] })).rows
  if (head === undefined) throw noAction(action)
  if (head[0] === 't') throw actionGone(action)
  const undoneTo = head[1] == null ? undefined : BigInt(head[1])
  const { changes, reached, isLast } = await rowChanges(run, action, from)
  const present = byId(await read(Array.from(new Set(changes.map(({ id }) => id)), (id) => ({ id }))))
  const followers = await followersOf(run, changes)
  const isOvertaken = ({ id, after }: RowChange, { next, newest }: Following = {}) =>
    next !== undefined && next !== undoId && (next !== action || newest === undoId || isEqual(present.get(id), after))
  const overtaken = changes.filter((change, i) => isOvertaken(change, followers[i]))
  const all = overtaken.length === 0 ? new Map<RowChange, Follower[]>() : await allFollowersOf(run, overtaken)
  const targets = new Map<bigint, NewPlant | undefined>()
  const fates = new Map<bigint, Fate>()
  const left: LeftPlant[] = []
  let restored = 0
  for (const [i, change] of changes.entries()) {
    const { id, before } = change
    const { next, newest } = followers[i] ?? {}
    const later = fates.get(id)
    const asked = { next, newest: () => (later === 'back' ? undoId : newest), all: () => all.get(change) ?? [] }
    const who = { action, undo: undoId, part: author.part }
    const where = {
      later,
      isPassed: undoneTo !== undefined && change.number >= undoneTo,
      present: () => present.get(id),
    }
    const decision = decideUndo(asked, change, { ...who, ...where })
    if (decision === 'leave') {
      const isBack = undoId !== undefined && targets.has(id)
      left.push(leftPlant(id, isBack ? targets.get(id) : present.get(id), author.part))
      fates.set(id, 'left')
    }
    if (decision === 'restore' || decision === 'restored') restored++
    if (decision !== 'restore' && decision !== 'restore further') continue
    targets.set(id, before)
    fates.set(id, 'back')
  }
  const swaps = undoId === undefined ? [] : swapsTo(targets, present, author)
  return { restored, left, next: isLast ? undefined : String(reached), swaps, reached }
}

function swapsTo(
  targets: ReadonlyMap<bigint, NewPlant | undefined>,
  present: ReadonlyMap<bigint, NewPlant>,
  { token, action }: Author,
): Swap[] {
  return Array.from(targets, ([id, after]) => {
    const before = present.get(id)
    return { id, before, after, changes: isEqual(before, after) ? [] : [{ before, after, token, action: action?.id }] }
  })
}

/** With where an undo has gone down to, unless the action has gone on since it began. */
const HEAD = `SELECT is_partial, (SELECT undone_to FROM actions WHERE id = $2
      AND (SELECT min(number) FROM action_rows WHERE action = $2) > (SELECT max(number) FROM action_rows WHERE action = $1))
  FROM actions WHERE id = $1 AND EXISTS (SELECT FROM action_rows WHERE action = $1)`
export const UNDONE = 'UPDATE actions SET undone_to = least(undone_to, $2::bigint) WHERE id = $1'

/** The changes of the next rows of an action, from the newest back. */
async function rowChanges(
  run: Run,
  action: string,
  from: string | undefined,
): Promise<{ readonly changes: RowChange[]; readonly reached: bigint; readonly isLast: boolean }> {
  const values = [action, from ?? String(2n ** 63n - 1n), STEP_ROWS, STEP_CHANGES]
  const { rows } = await run({ name: 'undo-rows', text: ROWS, values })
  const changes: RowChange[] = []
  for (const [number, ...columns] of rows) {
    const [ids = [], names = [], tags = [], namesBefore = [], tagsBefore = []] = columns.map((json) =>
      json === null ? [] : (JSON.parse(json) as (string | null)[]),
    )
    const ofRow = new Map<bigint, RowChange>()
    for (const [i, text] of ids.entries()) {
      const id = BigInt(text ?? 0)
      const before = ofRow.has(id) ? ofRow.get(id)?.before : plantIn(id, namesBefore[i], tagsBefore[i])
      ofRow.set(id, { id, number: BigInt(number ?? 0), before, after: plantIn(id, names[i], tags[i]) })
    }
    changes.push(...ofRow.values())
  }
  const reached = BigInt(rows.at(-1)?.[0] ?? 0)
  const [rest] = (await run({ name: 'undo-rest', text: REST, values: [action, String(reached)] })).rows
  return { changes, reached, isLast: rest === undefined }
}

/** Rows of the log of which one page has entries, unless one has more. */
const PAGE_ROWS = 250

/**
 * Returns entries of one action after a position, in the order of their numbers. An action of several connections at
 * once has all of its entries there once it has ended.
 *
 * @throws AppError 40003 and 41001, as ChangeLog.read
 */
export async function readActionPage(
  run: Run,
  { action, after, limit, ...filter }: ChangeRequest,
  signal: AbortSignal | undefined,
): Promise<ChangePage> {
  const head = await headOf(run, after)
  const { history, place } = head
  const isAtEnd = after !== undefined && isEndOfTick(place)
  const first = after === undefined || isAtEnd ? 0n : place.number
  const values = [action, String(first), PAGE_ROWS, limit]
  const { rows } = await run({ name: 'action-entries', text: ENTRIES, values })
  if (rows.some(([tick]) => tick === null)) {
    await makeTick(run, signal)
    return readActionPage(run, { action, after, limit, ...filter }, signal)
  }
  const entries: ChangeEntry[] = []
  let next = after ?? positionOf(history, place)
  for (const [tick, mark, number, time, ...columns] of rows) {
    const at = { tick: BigInt(tick ?? 0), mark: BigInt(mark ?? 0), number: BigInt(number ?? 0) }
    for (const entry of entriesOf(head, at, Number(time), columns)) {
      if (isAtEnd && at.tick <= place.tick) continue
      const own = selected(filter, entry)
      if (own !== undefined) entries.push(own)
      next = entry.position
      if (entries.length === limit) return { entries, next, isEnd: false }
    }
  }
  const last = rows.at(-1)
  const [rest] = (await run({ name: 'action-rest', text: LATER, values: [action, last?.[2] ?? String(first)] })).rows
  return { entries, next, isEnd: rest === undefined }
}

/** The row of the position may have no further entries, so it does not count. */
const ENTRIES = `WITH near AS (SELECT number, xid,
        CASE number WHEN $2 THEN 0 ELSE created + updated + deleted END AS changes FROM action_rows
      WHERE action = $1 AND number >= $2::bigint ORDER BY number LIMIT $3),
    taken AS (SELECT number, xid, changes, sum(changes) OVER (ORDER BY number) AS total FROM near)
  SELECT tick.tick, tick.mark, number, round(extract(epoch FROM at) * 1000), array_to_json(ids::text[]),
    array_to_json(names), array_to_json(tags), array_to_json(names_before), array_to_json(tags_before),
    array_to_json(tokens), action
  FROM taken JOIN changes USING (number, xid)
  LEFT JOIN LATERAL (${TICK_OF}) AS tick ON true
  WHERE total - changes < $4 ORDER BY number`
const LATER = 'SELECT 1 FROM action_rows WHERE action = $1 AND number > $2::bigint LIMIT 1'

const ROWS = `WITH near AS (SELECT number, xid, created + updated + deleted AS changes FROM action_rows
      WHERE action = $1 AND number < $2::bigint ORDER BY number DESC LIMIT $3),
    taken AS (SELECT number, xid, changes, sum(changes) OVER (ORDER BY number DESC) AS total FROM near)
  SELECT number, array_to_json(ids::text[]), array_to_json(names), array_to_json(tags), array_to_json(names_before),
    array_to_json(tags_before)
  FROM taken JOIN changes USING (number, xid) WHERE total - taken.changes < $4 ORDER BY number DESC`
const REST = 'SELECT 1 FROM action_rows WHERE action = $1 AND number < $2::bigint LIMIT 1'

interface Following {
  readonly next?: string | null | undefined
  readonly newest?: string | null | undefined
}

/** What follows each change: the actions of the next and of the newest change of its plant. */
async function followersOf(run: Run, changes: readonly RowChange[]): Promise<Following[]> {
  const values = [
    bigintArray(changes.map(({ id }) => id)),
    bigintArray(changes.map(({ number }) => number)),
    `{${changes.map(({ after }) => after === undefined).join()}}`,
  ]
  const { rows } = await run({ name: 'undo-followers', text: FOLLOWERS, values })
  return rows.map(([hasNext, next, newest]) => ({ next: hasNext === 't' ? next : undefined, newest }))
}

/**
 * The changes that do not create are in `change_plants`. Each says which transaction created its plant, and so does the
 * stored plant, which finds the creation. Only a creation follows a deletion.
 */
const FOLLOWERS = `SELECT next.number IS NOT NULL, next.action, newest.action
  FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) WITH ORDINALITY AS change (id, number, is_delete, at)
  LEFT JOIN plants ON plants.id = change.id
  LEFT JOIN LATERAL (SELECT number, xid, created_by FROM change_plants
    WHERE plant = change.id AND change_plants.number > change.number ORDER BY number LIMIT 1) AS later ON true
  LEFT JOIN LATERAL (SELECT number, xid, created_by FROM change_plants
    WHERE plant = change.id ORDER BY number DESC LIMIT 1) AS last ON true
  LEFT JOIN LATERAL (
    SELECT number, action FROM changes
      WHERE NOT is_delete AND changes.xid = later.xid AND changes.number = later.number
    UNION ALL
    (SELECT number, action FROM changes
      WHERE is_delete AND changes.xid = coalesce(later.created_by, plants.created_by)
        AND changes.number > change.number AND ids @> ARRAY[change.id] ORDER BY number LIMIT 1)) AS next ON true
  LEFT JOIN LATERAL (
    SELECT action FROM changes WHERE changes.xid = last.xid AND changes.number = last.number
      AND (plants.id IS NULL OR last.created_by = plants.created_by)
    UNION ALL
    (SELECT action FROM changes WHERE plants.id IS NOT NULL AND last.created_by IS DISTINCT FROM plants.created_by
      AND changes.xid = plants.created_by AND ids @> ARRAY[change.id] ORDER BY number DESC LIMIT 1)) AS newest ON true
  ORDER BY change.at`

/** All that follows changes of plants, as decideUndo asks for it. */
async function allFollowersOf(run: Run, changes: readonly RowChange[]): Promise<Map<RowChange, Follower[]>> {
  const values = [
    bigintArray(changes.map(({ id }) => id)),
    bigintArray(changes.map(({ number }) => number)),
    MOST_FOLLOWERS,
  ]
  const { rows } = await run({ name: 'undo-all-followers', text: ALL_FOLLOWERS, values })
  const followers = new Map(changes.map((change): [RowChange, Follower[]] => [change, []]))
  for (const [at, action = null, undoes] of rows) {
    const change = changes[Number(at) - 1]
    if (change !== undefined) followers.get(change)?.push({ action, undoes: undoes ?? undefined })
  }
  return followers
}

const ALL_FOLLOWERS = `SELECT change.at, later.action, actions.undoes
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS change (id, number, at)
  CROSS JOIN LATERAL (
    SELECT number, action FROM change_plants JOIN changes USING (number, xid)
      WHERE plant = change.id AND change_plants.number > change.number
    UNION
    SELECT created.number, created.action FROM (
        SELECT created_by FROM change_plants WHERE plant = change.id AND change_plants.number > change.number
        UNION SELECT created_by FROM plants WHERE plants.id = change.id) AS life
      CROSS JOIN LATERAL (SELECT number, action FROM changes WHERE changes.xid = life.created_by
        AND changes.number > change.number AND ids @> ARRAY[change.id] OFFSET 0) AS created
    ORDER BY number LIMIT $3) AS later
  LEFT JOIN actions ON actions.id = later.action
  ORDER BY change.at, later.number`
