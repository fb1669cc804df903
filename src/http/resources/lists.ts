import { AppError } from '../../domain/errors.ts'
import { hash64, type NewPlant, newPlantJson } from '../../domain/plant.ts'
import { filterOf, isShortPage, PAGE_TEXT, type Position, positionOf } from '../../domain/plant-query.ts'
import { lazySignalOf, type Store, type TagCount } from '../../domain/store.ts'
import { JSON_TYPE, READ_CACHING, type Responder } from '../answer/responder.ts'
import type { Exchange } from '../request/exchange.ts'
import { writeQueryString } from '../request/head.ts'
import type { OperationParameters } from '../request/operations.generated.ts'
import type { HandlerParts, Handlers } from '../router.ts'

type ListParameters = OperationParameters['listPlants']

export function plantListHandlers({ store, responder, admission }: HandlerParts): Pick<Handlers, 'listPlants'> {
  const write = (found: readonly NewPlant[], query: ListParameters) =>
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

  return {
    listPlants(exchange, query) {
      const { limit, sort: order, cursor } = query
      const after = cursor === undefined ? undefined : readPosition(query, cursor)
      const filter = filterOf(query.tag, query.q)
      if (filter === undefined) return answerPage(responder, exchange, write([], query))
      const wanted = { ...filter, order, after }
      const isShort = isShortPage(wanted, limit + 1)
      // Where reads share a few connections, a client with many short pages would hold up the searches of others.
      const found =
        isShort && store.pool === undefined
          ? store.listPlants(wanted, limit + 1, exchange)
          : admission.during(isShort ? 'page' : 'search', exchange, (signal) =>
              store.listPlants(wanted, limit + 1, lazySignalOf(signal)),
            )
      return found.then((plants) => answerPage(responder, exchange, writeOnce(plants, query)))
    },
  }
}

/** The name of the list that a cursor belongs to. The order of the tags does not matter. */
function listOf({ sort, tag = [], q }: ListParameters): string {
  return JSON.stringify(['plants', sort, [...new Set(tag)].sort(), q ?? null])
}

/** Writes the id in eight bytes, then the key in UTF-8: at most 520 bytes, as a key has at most 128 characters. */
function writePosition(query: ListParameters, { key, id }: Position): string {
  const bytes = Buffer.alloc(8 + Buffer.byteLength(key))
  bytes.writeBigInt64BE(id)
  bytes.write(key, 8)
  return writeCursor(listOf(query), bytes)
}

function readPosition(query: ListParameters, cursor: string): Position {
  const bytes = readCursor(listOf(query), cursor, 8)
  return { id: bytes.readBigInt64BE(), key: bytes.toString('utf8', 8) }
}

/**
 * A position in the list of tags: after this text, and after `skip` further tags. A tag may be longer than a cursor, so
 * the position after a long tag has only the beginning of the tag, and the number of tags with that beginning.
 */
interface TagPosition {
  readonly after: string | undefined
  readonly skip: number
}

const LIST = '["tags"]'
const START: TagPosition = { after: undefined, skip: 0 }
/** Characters (code points) of a tag that a cursor holds. */
const MAX_LENGTH = 200

export function tagHandlers({ store, responder, admission }: HandlerParts): Pick<Handlers, 'listTags'> {
  return {
    async listTags(exchange, { limit, cursor }) {
      const position = cursor === undefined ? START : readTagPosition(cursor)
      const found = await admission.during('search', exchange, (signal) =>
        tagsAfter(store, position, limit + 1, signal),
      )
      const page = writePage('/tags', found, { limit }, tagJson, (last, rows) =>
        writeTagPosition(positionAfter(rows, last, position)),
      )
      answerPage(responder, exchange, page)
    },
  }
}

/**
 * Reads at most `max` tags. Stops early once their texts add up to PAGE_TEXT; one extra tag shows that there is
 * another page. Reads in parts, because a tag may be as long as a body: the average length of a part gives the size of
 * the next one.
 */
async function tagsAfter(
  store: Store,
  { after, skip }: TagPosition,
  max: number,
  signal: AbortSignal,
): Promise<TagCount[]> {
  const found: TagCount[] = []
  let last = after
  let skipped = 0
  let text = 0
  for (let size = Math.min(FIRST_PART, skip + max); ; ) {
    const part = await store.listTags(last, size, signal)
    const more = part.slice(Math.max(0, skip - skipped))
    skipped += part.length - more.length
    for (const one of more) {
      found.push(one)
      if (found.length === max || text >= PAGE_TEXT) return found
      text += one.tag.length
    }
    if (part.length < size) return found
    last = part.at(-1)?.tag
    const average = part.reduce((sum, { tag }) => sum + tag.length, 0) / part.length
    size = Math.max(1, Math.min(skip - skipped + max - found.length, Math.floor(PAGE_TEXT / (average + 1))))
  }
}

/** Tags. */
const FIRST_PART = 16

const tagJson = ({ tag, plants }: TagCount): string => JSON.stringify({ tag, plants })

/** @param rows of the page that begins at `from` and ends with `last` */
function positionAfter(rows: readonly TagCount[], { tag: last }: TagCount, from: TagPosition): TagPosition {
  const beginning = last.length <= MAX_LENGTH ? last : Array.from(last).slice(0, MAX_LENGTH).join('')
  if (beginning === last) return { after: last, skip: 0 }
  const alike = rows.filter(({ tag }) => tag.length > beginning.length && tag.startsWith(beginning)).length
  return { after: beginning, skip: alike + (from.after === beginning ? from.skip : 0) }
}

function writeTagPosition({ after = '', skip }: TagPosition): string {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(after))
  bytes.writeUInt32BE(skip)
  bytes.write(after, 4)
  return writeCursor(LIST, bytes)
}

function readTagPosition(cursor: string): TagPosition {
  const bytes = readCursor(LIST, cursor, 4)
  return { skip: bytes.readUInt32BE(), after: bytes.toString('utf8', 4) }
}

interface WrittenPage {
  /** The JSON text of its rows, in an array. */
  readonly json: string
  /** The Link to the next page (RFC 8288); undefined on the last page. */
  readonly link: string | undefined
}

/** The parameters of a list. */
interface Query {
  readonly limit: number
  readonly sort?: string
  readonly tag?: readonly string[] | undefined
  readonly q?: string | undefined
}

/** Writes the address of a page. @param place the parameter that says where it begins */
export function linkTo(
  path: string,
  { limit, sort, tag = [], q }: Query,
  place: Readonly<Record<string, string>>,
): string {
  const parameters = Object.entries({ limit, sort, tag, q, ...place }).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => [name, String(value)] as const),
  )
  return `${path}?${writeQueryString(parameters)}`
}

/**
 * Writes a page of the rows that a store found for one more than the limit. A page may have fewer rows than the limit,
 * because it also ends once its JSON is longer than PAGE_TEXT.
 *
 * @param path the path of the list
 * @param cursorAfter returns the cursor of the page after these rows
 */
export function writePage<Row>(
  path: string,
  found: readonly Row[],
  query: Query,
  toJson: (row: Row) => string,
  cursorAfter: (last: Row, rows: readonly Row[]) => string,
): WrittenPage {
  const { json, rows, last } = writeRows(found, query.limit, toJson)
  const link = last && `<${linkTo(path, query, { cursor: cursorAfter(last, rows) })}>; rel="next"`
  return { json, link }
}

/** Writes rows up to the limit, or until their JSON is longer than PAGE_TEXT. `last` is the last of them if more follow. */
export function writeRows<Row>(
  found: readonly Row[],
  limit: number,
  toJson: (row: Row) => string,
): { readonly json: string; readonly rows: readonly Row[]; readonly last: Row | undefined } {
  const texts: string[] = []
  let length = 0
  for (const row of found) {
    if (texts.length === limit || length > PAGE_TEXT) break
    const text = toJson(row)
    texts.push(text)
    length += text.length
  }
  const rows = found.slice(0, texts.length)
  return { json: `[${texts.join(',')}]`, rows, last: rows.length < found.length ? rows.at(-1) : undefined }
}

export function answerPage(responder: Responder, exchange: Exchange, { json, link }: WrittenPage): void {
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', READ_CACHING]
  if (link !== undefined) headers.push('Link', link)
  responder.reply(exchange, 200, headers, json)
}

/**
 * Writes a position in a list as an opaque text: a checksum of both, then the bytes of the position. The checksum
 * detects mistakes, such as a cursor with other filters. It protects nothing, so it needs no secret, and every instance
 * and every version 1.x reads the cursor alike.
 *
 * @param list the kind of list, its order and its filters
 */
export function writeCursor(list: string, position: Buffer): string {
  return Buffer.concat([checksum(list, position), position]).toString('base64url')
}

/**
 * Returns the bytes of the position in a cursor.
 *
 * @param minLength the least number of bytes of a position in such a list
 * @throws AppError 40003 when the cursor belongs to another list
 */
export function readCursor(list: string, cursor: string, minLength: number): Buffer {
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
