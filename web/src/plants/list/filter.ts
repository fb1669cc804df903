import type { ExportPlantsQuery, ListPlantsQuery } from '../../../../client/src/index.ts'
import { hasTagging, type TagFilter } from '../../../../src/domain/plant-query.ts'

export type Sort = NonNullable<ListPlantsQuery['sort']>

/** The filter of the table. The address of the page contains it, so that a reload and a link show the same plants. */
export interface Filter extends TagFilter {
  readonly q: string
  readonly sort: Sort
}

/** No demand on tags. It names each part, so that it replaces any other demand. */
export const ANY_TAG: TagFilter = { tags: [], tagPrefix: undefined, untagged: undefined }

export const NO_FILTER: Filter = { q: '', ...ANY_TAG, sort: 'id' }

const SORTS: readonly Sort[] = ['id', '-id', 'name', '-name', '-changed']

/** @param mayReadLog whether the service tells the person, who follows the link of another one, the last changes */
export const filterIn = (query: URLSearchParams, mayReadLog = true): Filter => ({
  q: query.get('q') ?? '',
  ...taggingIn(query),
  sort: SORTS.find((sort) => sort === query.get('sort') && (mayReadLog || sort !== '-changed')) ?? 'id',
})

/** Reads one demand on tags, as the service refuses several. */
function taggingIn(query: URLSearchParams): TagFilter {
  const tagPrefix = query.get('tagPrefix') ?? ''
  if (query.get('untagged') === 'true') return { ...ANY_TAG, untagged: true }
  return tagPrefix === '' ? { ...ANY_TAG, tags: query.getAll('tag') } : { ...ANY_TAG, tagPrefix }
}

export function queryFor({ q, tags, tagPrefix, untagged, sort }: Filter): URLSearchParams {
  const query = new URLSearchParams()
  if (q !== '') query.set('q', q)
  for (const tag of tags) query.append('tag', tag)
  if (tagPrefix !== undefined) query.set('tagPrefix', tagPrefix)
  if (untagged === true) query.set('untagged', 'true')
  if (sort !== 'id') query.set('sort', sort)
  return query
}

/** Returns the filter as parameters of the service's operations. Files have no order by the last change: they are by id. */
export const wantedBy = ({
  q,
  tags,
  tagPrefix,
  untagged,
  sort,
}: Filter): Pick<ExportPlantsQuery, 'q' | 'tag' | 'tagPrefix' | 'untagged' | 'sort'> => ({
  q: q.trim() === '' ? undefined : q,
  tag: tags.length === 0 ? undefined : tags,
  tagPrefix,
  untagged,
  sort: sort === '-changed' ? undefined : sort,
})

/** Whether two filters find the same plants, in whatever order. */
export const findSame = (one: Filter, other: Filter): boolean => inOneText(one) === inOneText(other)

const inOneText = (filter: Filter): string => queryFor({ ...filter, q: filter.q.trim(), sort: 'id' }).toString()

export const isAll = (filter: Filter): boolean => filter.q.trim() === '' && !hasTagging(filter)
