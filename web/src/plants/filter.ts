import type { ListPlantsQuery } from '../../../client/src/index.ts'

export type Sort = NonNullable<ListPlantsQuery['sort']>

/** The filter of the table. The address of the page contains it, so that a reload and a link show the same plants. */
export interface Filter {
  readonly q: string
  /** A plant matches if it has one of these tags. Empty: every plant matches. */
  readonly tags: readonly string[]
  readonly sort: Sort
}

const SORTS: readonly Sort[] = ['id', '-id', 'name', '-name']

export const filterIn = (query: URLSearchParams): Filter => ({
  q: query.get('q') ?? '',
  tags: query.getAll('tag'),
  sort: SORTS.find((sort) => sort === query.get('sort')) ?? 'id',
})

export function queryFor({ q, tags, sort }: Filter): URLSearchParams {
  const query = new URLSearchParams()
  if (q !== '') query.set('q', q)
  for (const tag of tags) query.append('tag', tag)
  if (sort !== 'id') query.set('sort', sort)
  return query
}

/** Returns the filter as parameters of the service's operations. */
export const wantedBy = ({ q, tags, sort }: Filter): Pick<ListPlantsQuery, 'q' | 'tag' | 'sort'> => ({
  q: q.trim() === '' ? undefined : q,
  tag: tags.length === 0 ? undefined : tags,
  sort,
})

/** Whether two filters find the same plants, in whatever order. */
export const findSame = (one: Filter, other: Filter): boolean =>
  one.q.trim() === other.q.trim() && one.tags.join('\n') === other.tags.join('\n')

export const isAll = ({ q, tags }: Filter): boolean => q.trim() === '' && tags.length === 0
