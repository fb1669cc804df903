import { PAGE_TEXT } from '../../domain/plant-query.ts'
import type { Store, TagCount } from '../../domain/store.ts'
import type { Admission } from '../admission/admission.ts'
import type { Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import { answerPage, readCursor, writeCursor, writePage } from './pagination.ts'

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

/** The handler of the list of tags. */
export function tagHandlers(store: Store, responder: Responder, admission: Admission): Pick<Handlers, 'listTags'> {
  return {
    listTags(exchange, parameters) {
      const { limit, cursor } = parameters
      const position = cursor === undefined ? START : readPosition(cursor)
      admission
        .during('search', exchange, (signal) => tagsAfter(store, position, limit + 1, signal))
        .then((found) => {
          const page = writePage('/tags', found, limit, tagJson, (last, rows) =>
            parametersOf(positionAfter(rows, last, position), limit),
          )
          answerPage(responder, exchange, page)
        })
        .catch((error: unknown) => responder.refuse(exchange, error))
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

const parametersOf = (position: TagPosition, limit: number): [string, string][] => [
  ['limit', String(limit)],
  ['cursor', writePosition(position)],
]

/** @param rows of the page that begins at `from` and ends with `last` */
function positionAfter(rows: readonly TagCount[], { tag: last }: TagCount, from: TagPosition): TagPosition {
  const beginning = last.length <= MAX_LENGTH ? last : Array.from(last).slice(0, MAX_LENGTH).join('')
  if (beginning === last) return { after: last, skip: 0 }
  const alike = rows.filter(({ tag }) => tag.length > beginning.length && tag.startsWith(beginning)).length
  return { after: beginning, skip: alike + (from.after === beginning ? from.skip : 0) }
}

function writePosition({ after = '', skip }: TagPosition): string {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(after))
  bytes.writeUInt32BE(skip)
  bytes.write(after, 4)
  return writeCursor(LIST, bytes)
}

function readPosition(cursor: string): TagPosition {
  const bytes = readCursor(LIST, cursor, 4)
  return { skip: bytes.readUInt32BE(), after: bytes.toString('utf8', 4) }
}
