import type { Store, TagCount } from '../store.ts'
import { readCursor, writeCursor } from './cursor.ts'
import type { Exit } from './exit.ts'
import { answerPage, writePage } from './pages.ts'
import type { Handlers } from './routes.ts'

/**
 * A place in the list of tags: behind this text and so many of the tags that follow it. Tags have any length and cursors
 * must not, so one behind a long tag has only its beginning, and counts the tags with that beginning up to it.
 */
interface Place {
  readonly after: string | undefined
  readonly skip: number
}

const LIST = '["tags"]'
const START: Place = { after: undefined, skip: 0 }
/** Characters (code points) of a tag that a cursor holds. */
const MAX_LENGTH = 200

/** The list of tags. */
export function tagHandlers(store: Store, exit: Exit): Pick<Handlers, 'listTags'> {
  return {
    listTags(_request, reply, _operation, parameters) {
      const { limit, cursor } = parameters as unknown as { limit: number; cursor?: string }
      const place = cursor === undefined ? START : readPlace(cursor)
      store
        .listTags(place.after, place.skip + limit + 1)
        .then((all) => {
          const found = all.slice(place.skip)
          const page = writePage(found, limit, tagJson, (last, rows) =>
            parametersOf(placeBehind(rows, last, place), limit),
          )
          answerPage(exit, reply, '/tags', page)
        })
        .catch((error: unknown) => exit.refuse(reply, error))
    },
  }
}

const tagJson = ({ tag, plants }: TagCount): string => JSON.stringify({ tag, plants })

const parametersOf = (place: Place, limit: number): [string, string][] => [
  ['limit', String(limit)],
  ['cursor', writePlace(place)],
]

/** @param rows of the page that begins at `from` and ends with `last` */
function placeBehind(rows: readonly TagCount[], { tag: last }: TagCount, from: Place): Place {
  const beginning = last.length <= MAX_LENGTH ? last : Array.from(last).slice(0, MAX_LENGTH).join('')
  if (beginning === last) return { after: last, skip: 0 }
  const alike = rows.filter(({ tag }) => tag.length > beginning.length && tag.startsWith(beginning)).length
  return { after: beginning, skip: alike + (from.after === beginning ? from.skip : 0) }
}

function writePlace({ after = '', skip }: Place): string {
  const place = Buffer.alloc(4 + Buffer.byteLength(after))
  place.writeUInt32BE(skip)
  place.write(after, 4)
  return writeCursor(LIST, place)
}

function readPlace(cursor: string): Place {
  const place = readCursor(LIST, cursor, 4)
  return { skip: place.readUInt32BE(), after: place.toString('utf8', 4) }
}
