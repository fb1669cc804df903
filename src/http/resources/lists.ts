import { inTurns } from '../../base/time-slice.ts'
import { type ChangeEntry, type ChangeLog, entryJson, type NewestRequest } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
import { storeOf } from '../../domain/part-store.ts'
import { hash64, type NewPlant, newPlantJson } from '../../domain/plant.ts'
import {
  type FilterRequest,
  filterOf,
  isShortPage,
  type PlantFilter,
  type PlantOrder,
  type Position,
  positionOf,
  wordsOf,
} from '../../domain/plant-query.ts'
import { lazySignalOf, type Store, type TagCount } from '../../domain/store.ts'
import { PUBLIC } from '../../domain/token.ts'
import { jsonHeaders, READ_CACHING, type Responder } from '../answer/responder.ts'
import { challenge } from '../auth/bearer.ts'
import { HttpError } from '../refusal.ts'
import type { Exchange } from '../request/exchange.ts'
import { writeQueryString } from '../request/head.ts'
import type { OperationParameters } from '../request/operations.generated.ts'
import type { HandlerParts, Handlers } from '../router.ts'

/**
 * The largest page by id that waits for no other page, as the read of one plant does not. Beside 400 connections with
 * larger pages that do not wait, creates of others take up to 0.3 s; waiting takes a page of so few two thirds longer.
 */
const FEW = 50
/** Matches of words that a count looks at, one by one. Decision 49 has the time that so many take at a million plants. */
const MAX_COUNTED = 2000

type ListParameters = OperationParameters['listPlants']

/** The parameters of a list by id or name. */
type OrderedParameters = ListParameters & { readonly sort: PlantOrder }

export function plantListHandlers(parts: HandlerParts): Pick<Handlers, 'listPlants' | 'listDeletedPlants'> {
  const { responder, admission } = parts
  const write = (found: readonly NewPlant[], query: OrderedParameters) =>
    writePage('/plants', found, query, newPlantJson, (last) => writePosition(query, positionOf(query.sort, last)))
  /** The store returns the same array for a page that clients read often. Writing its text is half of such a read. */
  const written = new WeakMap<readonly NewPlant[], ReturnType<typeof write>>()
  const writeOnce: typeof write = (found, query) => {
    // A blank `q` finds the same array as no `q`, but its link repeats the `q`.
    if (query.q !== undefined) return write(found, query)
    const page = written.get(found) ?? write(found, query)
    written.set(found, page)
    return page
  }

  /** A first page without a next one has all plants that match. */
  const totalOf = async (
    store: Store,
    filter: PlantFilter,
    found: readonly NewPlant[],
    query: ListParameters,
    signal: AbortSignal,
  ) => {
    if (query.cursor === undefined && found.length <= query.limit) return String(found.length)
    return countOf(store, filter, signal)
  }

  return {
    listPlants(exchange, given) {
      if (given.sort === '-changed') return answerNewest(parts, exchange, '/plants', given, 'stored', changedJson)
      const query = { ...given, sort: given.sort }
      const { limit, sort: order, cursor, count } = query
      const after = cursor === undefined ? undefined : readPosition(query, cursor)
      const filter = filterOf(query)
      if (filter === undefined) {
        return write([], query).then((page) => answerPage(responder, exchange, page, count ? '0' : undefined))
      }
      const { actor } = exchange
      const store = storeOf(parts.store, actor)
      const wanted = { ...filter, order, after }
      if (count) {
        return admission.during('search', exchange, async (signal) => {
          const found = await store.listPlants(wanted, limit + 1, lazySignalOf(signal))
          answerPage(
            responder,
            exchange,
            await writeOnce(found, query),
            await totalOf(store, filter, found, query, signal),
          )
        })
      }
      const isShort = isShortPage({ ...wanted, part: actor.part }, limit + 1)
      // Where reads share a few connections, a client with many short pages would hold up the searches of others. So
      // would visitors, of whom there may be many, hold up tokens.
      const page =
        isShort && limit <= FEW && store.pool === undefined && actor.id !== PUBLIC.id
          ? store.listPlants(wanted, limit + 1, exchange).then((plants) => writeOnce(plants, query))
          : admission.during(isShort ? 'page' : 'search', exchange, async (signal) =>
              writeOnce(await store.listPlants(wanted, limit + 1, lazySignalOf(signal)), query),
            )
      return page.then((written) => answerPage(responder, exchange, written))
    },

    listDeletedPlants: (exchange, query) =>
      answerNewest(parts, exchange, '/plants/deleted', query, 'deleted', entryJson),
  }
}

async function countOf(store: Store, filter: PlantFilter, signal: AbortSignal): Promise<string> {
  const count = await store.countMatches(filter, MAX_COUNTED + 1, signal)
  return filter.words.length > 0 && count > MAX_COUNTED ? `>${MAX_COUNTED}` : String(count)
}

/** Answers plants by their newest changes, of which the log has only some. */
async function answerNewest(
  { store, responder, admission }: HandlerParts,
  exchange: Exchange,
  path: string,
  query: Omit<ListParameters, 'sort' | 'count'> & Partial<Pick<ListParameters, 'sort' | 'count'>>,
  of: NewestRequest['of'],
  toJson: (entry: ChangeEntry) => string,
): Promise<void> {
  const { limit, cursor, count = false } = query
  // The public view has no log of changes, and so no order by it.
  if (exchange.actor.id === PUBLIC.id) throw new HttpError(40101, 'this order needs an access token', challenge())
  const own = storeOf(store, exchange.actor)
  const log = mustHaveLog(own)
  const list = listOf({ sort: of, ...query })
  const before = cursor === undefined ? undefined : readPlace(list, cursor)[1]
  const filter = filterOf(query)
  const { page, total, since } = await admission.during('search', exchange, async (signal) => {
    if (filter === undefined) return { page: { json: '[]', link: undefined }, total: '0', since: undefined }
    const found = await log.newest({ ...filter, of, before, limit: limit + 1 }, signal)
    const { entries, next, since } = found
    const position = entries.length > limit ? entries[limit - 1]?.position : next
    const link = position && linkToNext(path, query, writePlace(list, 0n, position))
    const json = await arrayJson(entries.slice(0, limit), toJson)
    return { page: { json, link }, total: count ? await countOf(own, filter, signal) : undefined, since }
  })
  answerPage(responder, exchange, page, count ? total : undefined, since)
}

/** @throws AppError 40401 while the store keeps no log */
export function mustHaveLog({ changes }: Store): ChangeLog {
  if (changes !== undefined) return changes
  throw new AppError(40401, 'the log of changes is switched off (--changes-keep)')
}

const changedJson = ({ plant, time }: ChangeEntry): string =>
  plant === undefined ? '' : `${newPlantJson(plant).slice(0, -1)},"changed":"${new Date(time).toISOString()}"}`

/** The name of the list that a cursor belongs to. The order of the tags does not matter. */
function listOf({ sort, tag = [], tagPrefix, untagged, q }: FilterRequest & { readonly sort: string }): string {
  const others = tagPrefix !== undefined || untagged ? [tagPrefix ?? null] : []
  return JSON.stringify(['plants', sort, [...new Set(tag)].sort(), q ?? null, ...others])
}

/** It has at most 520 bytes, as a key has at most 128 characters. */
const writePosition = (query: OrderedParameters, { key, id }: Position): string => writePlace(listOf(query), id, key)

function readPosition(query: OrderedParameters, cursor: string): Position {
  const [id, key] = readPlace(listOf(query), cursor)
  return { id, key }
}

export function tagHandlers({ store, responder, admission }: HandlerParts): Pick<Handlers, 'listTags'> {
  return {
    async listTags(exchange, query) {
      const { limit, cursor, prefix, q = '' } = query
      const list = JSON.stringify(['tags', ...(prefix === undefined && q === '' ? [] : [prefix ?? null, q])])
      const after = cursor === undefined ? undefined : readCursor(list, cursor, 0).toString()
      if (prefix === '') throw new AppError(40003, 'prefix must not be empty')
      const words = wordsOf(q)
      const cursorOf = ({ tag }: TagCount): string => writeCursor(list, Buffer.from(tag))
      const page = await admission.during('search', exchange, async (signal) => {
        const own = storeOf(store, exchange.actor)
        const found = words === undefined ? [] : await own.listTags({ prefix, words, after }, limit + 1, signal)
        return writePage('/tags', found, { limit, prefix, q: query.q }, tagJson, cursorOf)
      })
      answerPage(responder, exchange, page)
    },
  }
}

const tagJson = ({ tag, plants }: TagCount): string => JSON.stringify({ tag, plants })

interface WrittenPage {
  /** The JSON text of its rows, in an array. */
  readonly json: string
  /** The Link to the next page (RFC 8288); undefined on the last page. */
  readonly link: string | undefined
}

interface Query extends FilterRequest {
  readonly limit: number
  readonly sort?: string
  readonly prefix?: string | undefined
  readonly action?: string | undefined
  readonly token?: string | undefined
  readonly since?: string | undefined
}

/** Writes the address of a page. @param place the parameter that says where it begins */
export function linkTo(
  path: string,
  { limit, sort, tag, tagPrefix, untagged, prefix, q, action, token, since }: Query,
  place: Readonly<Record<string, string>>,
): string {
  const others = { action, token, since }
  const parameters = { limit, sort, tag, tagPrefix, untagged: untagged || undefined, prefix, q, ...others, ...place }
  const pairs = Object.entries(parameters).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => [name, String(value)] as const),
  )
  return `${path}?${writeQueryString(pairs)}`
}

const linkToNext = (path: string, query: Query, cursor: string): string =>
  `<${linkTo(path, query, { cursor })}>; rel="next"`

/**
 * Writes a page of the rows that a store found for one more than the limit.
 *
 * @param path the path of the list
 * @param cursorAfter returns the cursor of the page after this row
 */
export async function writePage<Row>(
  path: string,
  found: readonly Row[],
  query: Query,
  toJson: (row: Row) => string,
  cursorAfter: (last: Row) => string,
): Promise<WrittenPage> {
  const { limit } = query
  const last = found.length > limit ? found[limit - 1] : undefined
  const link = last && linkToNext(path, query, cursorAfter(last))
  return { json: await arrayJson(found.slice(0, limit), toJson), link }
}

/** Writes a JSON array in turns: a page of a thousand plants of the largest size takes tens of milliseconds. */
export const arrayJson = async <Row>(rows: readonly Row[], toJson: (row: Row) => string): Promise<string> =>
  `[${(await inTurns(rows, toJson)).join(',')}]`

/**
 * @param total the number of all that match, as text
 * @param since the time of the oldest entry of the log, where the page comes from it
 */
export function answerPage(
  responder: Responder,
  exchange: Exchange,
  { json, link }: WrittenPage,
  total?: string,
  since?: number,
): void {
  const headers = jsonHeaders(READ_CACHING)
  if (link !== undefined) headers.push('Link', link)
  if (total !== undefined) headers.push('Plantstore-Total', total)
  if (since !== undefined) headers.push('Plantstore-Log-Since', new Date(since).toISOString())
  responder.reply(exchange, 200, headers, json)
}

/** Writes a position that is a number and a text: the number in eight bytes, then the text in UTF-8. */
export function writePlace(list: string, number: bigint, text: string): string {
  const bytes = Buffer.alloc(8 + Buffer.byteLength(text))
  bytes.writeBigInt64BE(number)
  bytes.write(text, 8)
  return writeCursor(list, bytes)
}

/** @throws AppError 40003 when the cursor belongs to another list */
export function readPlace(list: string, cursor: string): [number: bigint, text: string] {
  const bytes = readCursor(list, cursor, 8)
  return [bytes.readBigInt64BE(), bytes.toString('utf8', 8)]
}

/**
 * Writes a position in a list as an opaque text: a checksum of both, then the bytes of the position. The checksum
 * detects mistakes, such as a cursor with other filters. It protects nothing, so it needs no secret, and every instance
 * and every version 1.x reads the cursor alike.
 *
 * @param list the kind of list, its order and its filters
 */
function writeCursor(list: string, position: Buffer): string {
  return Buffer.concat([checksum(list, position), position]).toString('base64url')
}

/**
 * Returns the bytes of the position in a cursor.
 *
 * @param minLength the least number of bytes of a position in such a list
 * @throws AppError 40003 when the cursor belongs to another list
 */
function readCursor(list: string, cursor: string, minLength: number): Buffer {
  const bytes = Buffer.from(cursor, 'base64url')
  const position = bytes.subarray(CHECKSUM_LENGTH)
  // The decoder skips characters that are not base64url. A cursor is only valid as the service wrote it.
  if (position.length >= minLength && writeCursor(list, position) === cursor) return position
  throw new AppError(
    40003,
    'cursor does not belong to this list, order and filters; follow the Link of the previous page unchanged, or start again without cursor',
  )
}

const CHECKSUM_LENGTH = 8

const checksum = (list: string, position: Buffer): Buffer =>
  Buffer.from(hash64(`${list}\n${position.toString('latin1')}`), 'hex')
