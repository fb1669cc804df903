import type { TagCount } from '../../../../client/src/index.ts'
import { compareCodePoints } from '../../../../src/domain/plant-query.ts'

/** Tags that begin with the same text up to a slash, such as `conifer/`. */
export interface TagGroup {
  readonly prefix: string
  /** The plants of all its tags that were read, also of those that a search leaves out. */
  readonly plants: number
  readonly entries: readonly TagEntry[]
}

export type TagEntry = TagCount | TagGroup

export const isGroup = (entry: TagEntry): entry is TagGroup => 'prefix' in entry

/** Groups within groups. A further indent would leave a window of 360 pixels no room for the tag. */
const MOST_DEPTH = 3

/** Groups tags by their slashes. A tag that would be alone in its group stands for itself. */
export function tagTree(tags: readonly TagCount[], above = '', depth = 0): readonly TagEntry[] {
  if (depth === MOST_DEPTH) return tags
  const parts = Map.groupBy(tags, ({ tag }) => tag.slice(0, tag.indexOf('/', above.length) + 1 || undefined))
  return [...parts].flatMap(([prefix, members]): readonly TagEntry[] => {
    if (members.length === 1) return members
    const plants = members.reduce((sum, each) => sum + each.plants, 0)
    return [{ prefix, plants, entries: tagTree(members, prefix, depth + 1) }]
  })
}

/** Whether a list that is read up to a tag may lack tags of a group. */
const isCut = ({ prefix }: TagGroup, readTo: string): boolean =>
  readTo.startsWith(prefix) || compareCodePoints(prefix, readTo) > 0

/** The groups of which a list may lack tags. @param readTo undefined: the list has all tags */
export const cutGroups = (entries: readonly TagEntry[], readTo: string | undefined): readonly TagGroup[] =>
  entries.flatMap((entry): readonly TagGroup[] =>
    readTo !== undefined && isGroup(entry) && isCut(entry, readTo) ? [entry, ...cutGroups(entry.entries, readTo)] : [],
  )

/** The tags that match, in their groups. */
export const matching = (entries: readonly TagEntry[], isMatch: (tag: string) => boolean): readonly TagEntry[] =>
  entries.flatMap((entry): readonly TagEntry[] => {
    if (!isGroup(entry)) return isMatch(entry.tag) ? [entry] : []
    const found = matching(entry.entries, isMatch)
    return found.length === 0 ? [] : [{ ...entry, entries: found }]
  })
