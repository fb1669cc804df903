import { askerOf } from '../../domain/asker.ts'
import { type NewPlant, newPlantJson } from '../../domain/plant.ts'
import { filterOf, isShortPage, type Position, positionOf } from '../../domain/plant-query.ts'
import type { Store } from '../../domain/store.ts'
import type { Admission } from '../admission/admission.ts'
import type { OperationParameters } from '../operations.generated.ts'
import type { Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import { answerPage, readCursor, writeCursor, writePage } from './pagination.ts'

type ListParameters = OperationParameters['listPlants']

/** The handler of the list of plants. */
export function plantListHandlers(
  store: Store,
  responder: Responder,
  admission: Admission,
): Pick<Handlers, 'listPlants'> {
  const write = (found: readonly NewPlant[], query: ListParameters) =>
    writePage('/plants', found, query.limit, newPlantJson, (last) => parametersAfter(last, query))
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
      const found = isShortPage(wanted, limit + 1)
        ? store.listPlants(wanted, limit + 1, exchange)
        : admission.during('search', exchange, (signal) => store.listPlants(wanted, limit + 1, askerOf(signal)))
      found
        .then((plants) => answerPage(responder, exchange, writeOnce(plants, query)))
        .catch((error: unknown) => responder.refuse(exchange, error))
    },
  }
}

function parametersAfter(last: NewPlant, query: ListParameters): [string, string][] {
  const { limit, sort, tag = [], q } = query
  const parameters: [string, string][] = [
    ['limit', String(limit)],
    ['sort', sort],
  ]
  for (const text of tag) parameters.push(['tag', text])
  if (q !== undefined) parameters.push(['q', q])
  parameters.push(['cursor', writePosition(query, positionOf(sort, last))])
  return parameters
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
