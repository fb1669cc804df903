import type { StoredPlant, TagCount } from '../../../client/src/index.ts'
import { compareCodePoints, isTagged, type TagFilter, words } from '../../../src/domain/plant-query.ts'
import { noteOwner, onForgotten } from '../page/stored.ts'
import { remembersSession, session } from '../session/session.ts'
import { database, type SeenPlant } from './database.ts'
import { ownerOf } from './waiting.ts'

/** Plants that a device keeps to read; the ones seen longest ago go first. */
const MOST = 20_000

/** Plants as this device has seen them last. */
export interface Seen {
  readonly plants: readonly StoredPlant[]
  /** When it has seen the first of them, in milliseconds since 1970. */
  readonly since: number
}

interface Sought extends TagFilter {
  readonly q: string
  readonly sort: string
}

/**
 * Keeps plants to read without a network, on a device that remembers the token: on any other one, nobody could open the
 * page again to read them.
 */
export async function see(plants: readonly StoredPlant[], absent: readonly bigint[] = []): Promise<void> {
  const owner = ownerText()
  if (owner === undefined || !remembersSession()) return
  try {
    const kept = await database()
    // The session may have ended meanwhile, and what was seen with it.
    if (ownerText() !== owner) return
    noteOwner()
    const seeing = kept.transaction('seen', 'readwrite')
    const at = Date.now()
    for (const plant of plants.slice(0, MOST)) void seeing.store.put({ owner, id: String(plant.id), plant, at })
    for (const id of absent) void seeing.store.delete([owner, String(id)])
    let excess = (await seeing.store.count()) - MOST
    for (
      let oldest = await seeing.store.index('at').openCursor();
      oldest && excess > 0;
      oldest = await oldest.continue()
    ) {
      await oldest.delete()
      excess -= 1
    }
    await seeing.done
  } catch {
    // No room: what waits to be sent has the first right to it.
  }
}

/** The plants seen before that a search finds. */
export async function seenBefore({ q, sort, ...tagging }: Sought): Promise<Seen | undefined> {
  const wanted = words(q)
  return found(
    (all) =>
      all
        .filter(({ plant }) => isTagged(tagging, plant.tag))
        .filter(({ plant }) => {
          const own = words(`${plant.id} ${plant.name} ${plant.tag ?? ''}`)
          return wanted.every((word) => own.some((each) => each.startsWith(word)))
        }),
    sort,
  )
}

/** The plants of some ids as they were seen last. */
export const seenOf = (ids: ReadonlySet<bigint>): Promise<Seen | undefined> =>
  found((all) => all.filter(({ plant }) => ids.has(plant.id)), 'id')

/** The tags of the plants seen before, in the order of the service, with how many have each. */
export async function seenTags(): Promise<readonly TagCount[]> {
  const { plants = [] } = (await found((all) => all, 'id')) ?? {}
  const counts = Map.groupBy(plants, ({ tag }) => tag)
  return [...counts]
    .flatMap(([tag, { length }]) => (tag === undefined ? [] : [{ tag, plants: length }]))
    .sort((one, other) => compareCodePoints(one.tag, other.tag))
}

const BY: Readonly<Record<'id' | 'name', (one: StoredPlant, other: StoredPlant) => number>> = {
  id: (one, other) => (one.id < other.id ? -1 : 1),
  name: (one, other) => one.name.localeCompare(other.name),
}

async function found(
  choose: (all: readonly SeenPlant[]) => readonly SeenPlant[],
  sort: string,
): Promise<Seen | undefined> {
  const owner = ownerText()
  if (owner === undefined) return undefined
  try {
    const all = await (await database()).getAll('seen', IDBKeyRange.bound([owner], [owner, []]))
    const chosen = choose(all)
    if (chosen.length === 0) return undefined
    const plants = chosen.map(({ plant }) => plant).sort(BY[sort.endsWith('name') ? 'name' : 'id'])
    if (sort.startsWith('-')) plants.reverse()
    return { plants, since: Math.min(...chosen.map(({ at }) => at)) }
  } catch {
    return undefined
  }
}

/** Nobody reads what another token has seen, or what another store had. */
function ownerText(): string | undefined {
  if (session.value.kind !== 'signed-in') return undefined
  const { token, store = '' } = ownerOf(session.value)
  return `${token} ${store}`
}

onForgotten(() => {
  void database()
    .then((kept) => kept.clear('seen'))
    .catch(() => {})
})
