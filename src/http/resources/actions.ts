import { createHash, randomUUID } from 'node:crypto'
import {
  type Action,
  type ActionLog,
  actionJson,
  type LeftPlant,
  MAX_TITLE,
  mustOwnAction,
  noAction,
} from '../../domain/actions.ts'
import { AppError } from '../../domain/errors.ts'
import { storeOf } from '../../domain/part-store.ts'
import { isLongerThan, newPlantJson } from '../../domain/plant.ts'
import type { Store } from '../../domain/store.ts'
import { type Actor, timeIn } from '../../domain/token.ts'
import { jsonHeaders, READ_CACHING } from '../answer/responder.ts'
import type { Exchange } from '../request/exchange.ts'
import { keyIn } from '../request/head.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { answerPage, readPlace, writePage, writePlace } from './lists.ts'

interface ActionParameters {
  readonly 'Plantstore-Action'?: string | undefined
  readonly 'Plantstore-Action-Title'?: string | undefined
}

/**
 * The sender of a change, with the action that its request names.
 *
 * @throws AppError 40003 for a title that is no text, too long, or of no action
 */
export function actorIn(exchange: Exchange, { actions }: Store, parameters: ActionParameters): Actor {
  const { 'Plantstore-Action': id, 'Plantstore-Action-Title': title } = parameters
  if (id === undefined && title === undefined) return exchange.actor
  if (id === undefined) throw new AppError(40003, 'Plantstore-Action-Title needs Plantstore-Action beside it')
  return actions === undefined ? exchange.actor : { ...exchange.actor, action: { id, title: titleIn(title) } }
}

/** The header that names the action of a change; empty for a change on its own. */
export const actionHeader = ({ action }: Actor): string[] =>
  action === undefined ? [] : ['Plantstore-Action', action.id]

/**
 * The sender of work that is an action in any case. Without a name in the request, the id follows from the
 * Idempotency-Key, so that a retry goes on with the same action.
 *
 * @param purpose tells the ids of several operations with one key apart
 * @throws AppError 40003 as actorIn does
 */
export function actorOfWork(
  exchange: Exchange,
  { actions }: Store,
  parameters: ActionParameters & { readonly 'Idempotency-Key'?: string | undefined },
  purpose: string,
  undoes?: string,
): Actor {
  const { actor } = exchange
  if (actions === undefined) return actor
  const key = keyIn(parameters)
  const made = () =>
    key === undefined
      ? randomUUID()
      : createHash('sha256').update(`${purpose}\n${actor.id}\n${key}`).digest('base64url').slice(0, 22)
  const { 'Plantstore-Action': id = made(), 'Plantstore-Action-Title': title } = parameters
  return { ...actor, action: { id, title: titleIn(title), undoes } }
}

/**
 * Refuses work before it begins where another token has its action: the store would refuse each row of it.
 *
 * @throws AppError 40907
 */
export async function mustMakeAction({ actions }: Store, { id: token, action }: Actor): Promise<void> {
  const stored = action && (await actions?.get(action.id))
  if (action !== undefined && stored !== undefined) mustOwnAction(action, token, stored)
}

function titleIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  // The contract admits UTF-8 alone.
  const title = decodeURIComponent(header)
  if (!isLongerThan(title, MAX_TITLE)) return title
  throw new AppError(40003, `Plantstore-Action-Title must have at most ${MAX_TITLE} characters`)
}

/** Plants that the report of an undo names. */
const MAX_LEFT = 1000

export function actionHandlers(parts: HandlerParts): Pick<Handlers, 'listActions' | 'getAction' | 'undoAction'> {
  const { store, responder, admission, stopping } = parts
  return {
    async listActions(exchange, { limit, cursor, token, since }) {
      const log = mustHaveActions(storeOf(store, exchange.actor))
      const list = JSON.stringify(['actions', token ?? null, since ?? null])
      const query = { token, since: sinceIn(since), after: placeIn(list, cursor) }
      const page = await admission.during('search', exchange, async (signal) => {
        const found = await log.list(query, limit + 1, signal)
        return writePage('/actions', found, { limit, token, since }, actionJson, placeOf(list))
      })
      answerPage(responder, exchange, page)
    },

    async getAction(exchange, { id }) {
      const log = mustHaveActions(storeOf(store, exchange.actor))
      const action = await admission.during('search', exchange, (signal) => log.get(id, signal))
      if (action === undefined) throw noAction(id)
      responder.reply(exchange, 200, jsonHeaders(READ_CACHING), actionJson(action))
    },

    undoAction(exchange, parameters) {
      const { id, dryRun } = parameters
      const log = mustHaveActions(storeOf(store, exchange.actor))
      const actor = dryRun ? exchange.actor : actorOfWork(exchange, store, parameters, `undo ${id}`, id)
      const report = { restored: 0, left: 0 }
      const leftPlants: LeftPlant[] = []
      exchange.change = {
        outcome: 'undone',
        details: () => ({ action: id, dryRun, ...report, undo: actor.action?.id }),
        isGradual: true,
      }
      return admission
        .during(dryRun ? 'dryRun' : 'import', exchange, async (ending) => {
          const signal = AbortSignal.any([ending, stopping])
          if (!dryRun) responder.audit.begins(exchange)
          for (let from: string | undefined; ; ) {
            const { restored, left, next } = await log.undo(id, from, actor, signal)
            report.restored += restored
            report.left += left.length
            leftPlants.push(...left.slice(0, MAX_LEFT - leftPlants.length))
            if (next === undefined) return
            // A retry goes on here.
            signal.throwIfAborted()
            from = next
          }
        })
        .finally(() => {
          if (!dryRun) void store.afterImport()
        })
        .then(() => {
          const mayRead = exchange.sender.scopes.includes('plants:read')
          const rows = leftPlants.map((left) => leftJson(mayRead ? left : { id: left.id, plant: undefined }))
          const json = `${JSON.stringify({ dryRun, ...report }).slice(0, -1)},"leftPlants":[${rows.join(',')}]}`
          responder.reply(exchange, 200, [...jsonHeaders('no-store'), ...actionHeader(actor)], json)
        })
    },
  }
}

function mustHaveActions({ actions }: Store): ActionLog {
  if (actions !== undefined) return actions
  throw new AppError(40401, 'the log of changes, which has the actions, is switched off (--changes-keep)')
}

const leftJson = ({ id, plant }: LeftPlant): string =>
  plant === undefined ? `{"id":${id}}` : `{"id":${id},"plant":${newPlantJson(plant)}}`

const placeOf =
  (list: string) =>
  ({ began, id }: Action): string =>
    writePlace(list, BigInt(began), id)

function placeIn(list: string, cursor: string | undefined): Pick<Action, 'began' | 'id'> | undefined {
  if (cursor === undefined) return undefined
  const [began, id] = readPlace(list, cursor)
  return { began: Number(began), id }
}

function sinceIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = timeIn(text)
  if (time === undefined) throw new AppError(40003, 'since must be a time such as 2026-11-22T08:00:00Z')
  return time.getTime()
}
