import { AppError } from './errors.ts'
import { covers } from './part.ts'
import { hash64, type NewPlant, newPlantJson } from './plant.ts'
import { isTagged, matches, type PlantFilter, type TagFilter } from './plant-query.ts'

export const CHANGE_TYPES = ['plant.created', 'plant.updated', 'plant.deleted'] as const
/** A replace, an update and an import of another plant under the same id are all `plant.updated`. */
export type ChangeType = (typeof CHANGE_TYPES)[number]

/** An entry of the log of changes: one change of one plant. */
export interface ChangeEntry {
  /** 1 to 64 characters of `[A-Za-z0-9_-]`. In one history, a later entry has a greater position, compared as text. */
  readonly position: string
  readonly type: ChangeType
  /** Milliseconds since 1970. */
  readonly time: number
  /** The plant after the change; undefined for a deleted one. */
  readonly plant: NewPlant | undefined
  /** The plant before the change; undefined for a created one. */
  readonly before: NewPlant | undefined
  /** The id of the actor (Actor.id). */
  readonly token: string
  /** The id of the action to which the change belongs; undefined for a change on its own. */
  readonly action: string | undefined
}

/** Makes an entry of what a log has of a change. A plant that is absent before was created, one absent after deleted. */
export function entryOf(
  position: string,
  time: number,
  before: NewPlant | undefined,
  plant: NewPlant | undefined,
  token: string,
  action: string | undefined,
): ChangeEntry {
  const type = before === undefined ? 'plant.created' : plant === undefined ? 'plant.deleted' : 'plant.updated'
  return { position, type, time, plant, before, token, action }
}

/** The JSON text of an entry, in one line. Leaves out an absent plant. */
export function entryJson({ position, type, time, plant, before, token, action }: ChangeEntry): string {
  const after = plant === undefined ? '' : `,"plant":${newPlantJson(plant)}`
  const earlier = before === undefined ? '' : `,"before":${newPlantJson(before)}`
  const start = `{"position":"${position}","type":"${type}","time":"${new Date(time).toISOString()}"`
  const part = action === undefined ? '' : `,"action":"${action}"`
  return `${start}${after}${earlier},"token":${JSON.stringify(token)}${part}}`
}

/**
 * Selects entries whose `plant` or `before` has such a tag. No types stand for all. With a part, the log is that of a
 * store that has the part's plants alone: a plant that leaves the part is deleted, one that comes into it is created.
 */
export interface ChangeFilter extends TagFilter {
  readonly types?: readonly ChangeType[] | undefined
}

export interface ChangeRequest extends ChangeFilter {
  /** The id of an action, whose changes alone to return. */
  readonly action?: string | undefined
  /** The position after which to begin; undefined for the oldest entry that is kept. */
  readonly after: string | undefined
  /** The number of entries after which the page ends. */
  readonly limit: number
}

export interface ChangePage {
  /** Oldest first. */
  readonly entries: readonly ChangeEntry[]
  /** The position of the last entry that was read, also where the filter left it out; the one asked for if none was. */
  readonly next: string
  /** Whether the log had no more entries at the time of the read. */
  readonly isEnd: boolean
}

/**
 * Selects plants by what they are, or were when they were deleted. With a part, a plant that has left the part is deleted,
 * as it was in the part.
 */
export interface NewestRequest extends PlantFilter {
  /** Plants that are stored, or that are deleted now: not those that were created again since. */
  readonly of: 'stored' | 'deleted'
  /** The position before which to begin; undefined for the newest entry. */
  readonly before: string | undefined
  readonly limit: number
}

export interface NewestPage {
  /** Newest first, each the newest change of its plant. */
  readonly entries: readonly ChangeEntry[]
  /** The position before which the next page begins; undefined where the read has reached the oldest entry. */
  readonly next: string | undefined
  /** The time of the oldest entry that is kept, in milliseconds since 1970; undefined for an empty log. */
  readonly since: number | undefined
}

export interface ChangeLogUse {
  readonly entries: number
  readonly bytes: number
  /** The time of the oldest entry, in milliseconds since 1970; undefined for an empty log. */
  readonly oldest: number | undefined
}

/**
 * The log of changes of plants, in an order that is the order of the commits for each plant. Each entry is written in the
 * transaction of its change; a write that changes nothing writes none. An entry that was read once keeps its position,
 * and nothing is ever inserted before it. The oldest entries are removed after a time, and when the log is too large.
 *
 * A position carries the identity of the history. A restored or copied store begins a new history.
 */
export interface ChangeLog {
  /** The position of the newest entry. It sees every write that was answered before. */
  end(): Promise<string>

  /**
   * Returns entries after a position. It sees every write that was answered before, or `isEnd` is false. A read looks at
   * a bounded number of entries: a page may have fewer entries than the limit, or none, and its `next` is then further.
   *
   * @throws AppError 40003 when the position is malformed; 41001, with the oldest position in its message, when entries
   *   after it were removed, or it is of another history
   */
  read(request: ChangeRequest, signal?: AbortSignal): Promise<ChangePage>

  /**
   * Returns at most `limit` entries of one plant, newest first. Returns no entries for an id that never had a plant.
   *
   * @param before the position before which to begin; undefined for the newest entry
   * @throws AppError 40003 when the position is malformed, 41001 when it is of another history
   */
  history(id: bigint, before: string | undefined, limit: number, signal?: AbortSignal): Promise<readonly ChangeEntry[]>

  /**
   * Returns plants by their newest changes, the newest first. It sees every write that was answered before. Like `read`, it
   * looks at a bounded number of entries, so a page may be short, or empty, before the oldest entry.
   *
   * @throws AppError 40003 when the position is malformed, 41001 when it is of another history
   */
  newest(request: NewestRequest, signal?: AbortSignal): Promise<NewestPage>

  usage(): Promise<ChangeLogUse>
}

export const ALL_CHANGES: ChangeFilter = { tags: [], types: [] }

/** Selects at least every entry of the whole store that one of the filters selects: all, where one is for a prefix or for no tag. */
export function unionOf(filters: readonly ChangeFilter[]): ChangeFilter {
  const union = <T>(parts: readonly (readonly T[])[]): T[] =>
    parts.some((part) => part.length === 0) ? [] : [...new Set(parts.flat())]
  // What a filter with a part selects as created may be updated in the store.
  return {
    types: union(filters.map(({ types = [], part }) => (part === undefined ? types : []))),
    tags: union(filters.map(({ tags }) => tags)),
  }
}

export const hasType = ({ types = [] }: ChangeFilter, type: ChangeType): boolean =>
  types.length === 0 || types.includes(type)

/** What a filter looks at, of an entry or of its JSON. */
export interface Selectable {
  readonly type: ChangeType
  readonly plant?: { readonly tag?: string | undefined } | undefined
  readonly before?: { readonly tag?: string | undefined } | undefined
}

/** Whether a filter selects an entry, which is one of the filter's part if it has one. */
export function isSelected(filter: ChangeFilter, { type, plant, before }: Selectable): boolean {
  return hasType(filter, type) && [plant, before].some((each) => each !== undefined && isTagged(filter, each.tag))
}

/** What a filter selects of an entry of the whole store: the entry as its part has it, or nothing. */
export function selected(filter: ChangeFilter, entry: ChangeEntry): ChangeEntry | undefined {
  const own = within(filter.part, entry)
  return own !== undefined && isSelected(filter, own) ? own : undefined
}

/** An entry as a part has it; undefined where the part has none. */
export function within(part: TagFilter['part'], entry: ChangeEntry): ChangeEntry | undefined {
  if (part === undefined) return entry
  const { position, time, token, action } = entry
  const [before, plant] = [entry.before, entry.plant].map((each) => (each && covers(part, each.tag) ? each : undefined))
  return before === undefined && plant === undefined ? undefined : entryOf(position, time, before, plant, token, action)
}

/** Entries that one read of the newest changes looks at: about 0.2 s of work. */
export const MAX_NEWEST_SEEN = 20_000

/** Picks what may be the newest changes of plants from the entries of a log, which come to it from the newest back. */
export class NewestEntries {
  readonly #request: NewestRequest
  /** Plants of which a later entry came before. */
  readonly #passed = new Set<bigint>()

  constructor(request: NewestRequest) {
    this.#request = request
  }

  /** @returns the entry as the part has it, unless the request does not select it, or a later one of its plant came */
  candidate(entry: ChangeEntry): ChangeEntry | undefined {
    const own = within(this.#request.part, entry)
    const plant = own?.plant ?? own?.before
    if (own === undefined || plant === undefined || this.#passed.has(plant.id)) return undefined
    this.#passed.add(plant.id)
    const isDeleted = own.plant === undefined
    return isDeleted === (this.#request.of === 'deleted') && matches(this.#request, plant) ? own : undefined
  }
}

/** The place of an entry in a history. */
export interface ChangePosition {
  /** The identity of the history: HISTORY_LENGTH hexadecimal digits. */
  readonly history: string
  /** Hexadecimal digits, as many for each entry of a history, so that texts are in the order of the entries. */
  readonly place: string
}

export const HISTORY_LENGTH = 12
const CHECKSUM_LENGTH = 8

const checksumOf = (text: string): string => hash64(text).slice(0, CHECKSUM_LENGTH)

/** Writes a position: history, place and a checksum, which detects mistakes and protects nothing. */
export function writePosition({ history, place }: ChangePosition): string {
  const text = history + place
  return text + checksumOf(text)
}

/**
 * Reads a position.
 *
 * @throws AppError 40003 unless `writePosition` wrote it
 */
export function readPosition(position: string): ChangePosition {
  const text = position.slice(0, -CHECKSUM_LENGTH)
  if (text.length > HISTORY_LENGTH && position === text + checksumOf(text)) {
    return { history: text.slice(0, HISTORY_LENGTH), place: text.slice(HISTORY_LENGTH) }
  }
  throw new AppError(40003, 'the position is not one that this service has given; send it back unchanged')
}

/** The identity of the history of a position, which a restored or copied store does not share. */
export const historyOf = (position: string): string => readPosition(position).history

/** @param oldest the position after which the oldest kept entry follows */
export const positionGone = (oldest: string): AppError =>
  new AppError(41001, `the log of changes has no entries any more that follow this position; it begins after ${oldest}`)

/** @param oldest as for `positionGone` */
export const otherHistory = (oldest: string): AppError =>
  new AppError(
    41001,
    `the position is of another store, or of this one before it was restored; the log of changes begins after ${oldest}`,
  )
