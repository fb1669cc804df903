import type { ActionOptions, KeptPlant, PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { versionOf } from '../../../src/domain/plant.ts'
import { isRefusal } from '../page/said.ts'
import { type Content, isSame, type Numbered, type Waiting } from './change.ts'

/** What the store answered to a change. */
export type Answer =
  /** The store is as the person wants it. */
  | { readonly kind: 'stored' }
  /** The store has something else than the person saw. undefined: the token may not read it. */
  | { readonly kind: 'met'; readonly theirs: KeptPlant | null | undefined }

export interface Attempt {
  readonly client: PlantstoreClient
  readonly mayRead: boolean
  readonly signal: AbortSignal
  /** What an earlier request wanted, whose answer may be lost. */
  readonly tried: Waiting['tried']
  readonly action?: ActionOptions | undefined
}

/**
 * Makes a change of a plant that is as the person saw it, in one request: the entity tag follows from the plant. The
 * change may be repeated, and then ends in the same state.
 */
export async function attempt({ id, base, wanted }: Numbered, using: Attempt): Promise<Answer> {
  const { client, tried, signal, mayRead, action } = using
  const seen = [base, tried?.plant ?? null].filter((each) => each !== null)
  const isNew = base === null && wanted !== null
  try {
    if (isNew) await client.createPlant(plantOf(id, wanted), { ...action, mustBeNew: tried === undefined, signal })
    else if (seen.length > 0) await write(id, { seen, etags: seen.map((each) => etagOf(id, each)) }, wanted, using)
    if (isNew || seen.length > 0) return { kind: 'stored' }
  } catch (error) {
    if (!isOther(error)) throw error
  }
  if (!mayRead) return { kind: 'met', theirs: undefined }
  const current = await read(id, using)
  const content = current?.plant ?? null
  if (isSame(content, wanted) && (base !== null || tried !== undefined)) return { kind: 'stored' }
  const isKnown = isSame(content, base) || (tried !== undefined && isSame(content, tried.plant))
  if (!isKnown) return { kind: 'met', theirs: current }
  try {
    if (current !== null) await write(id, { seen: [current.plant], etags: [current.etag] }, wanted, using)
    else if (wanted !== null) await client.createPlant(plantOf(id, wanted), { ...action, mustBeNew: true, signal })
    return { kind: 'stored' }
  } catch (error) {
    if (!isOther(error)) throw error
  }
  // Another client has written between the reading and the write.
  const theirs = await read(id, using)
  return isSame(theirs?.plant ?? null, wanted) ? { kind: 'stored' } : { kind: 'met', theirs }
}

/** Whether the store has something else under the id than the request expects. */
const isOther = (error: unknown): boolean => [41201, 40901, 40402].some((number) => isRefusal(error, number))

export const plantOf = (id: bigint, { name, tag }: Content): StoredPlant =>
  tag === undefined ? { id, name } : { id, name, tag }

/** As `plantETag` of the service writes it. */
const etagOf = (id: bigint, { name, tag }: Content): string => `"${versionOf({ id, name, tag })}"`

async function read(id: bigint, { client, signal }: Attempt): Promise<KeptPlant | null> {
  try {
    return await client.getPlant(id, { signal })
  } catch (error) {
    if (isRefusal(error, 40402)) return null
    throw error
  }
}

interface Expected {
  /** What the plant may be. */
  readonly seen: readonly Content[]
  readonly etags: readonly string[]
}

async function write(
  id: bigint,
  { seen, etags }: Expected,
  wanted: Content | null,
  { client, signal, action }: Attempt,
): Promise<void> {
  const ifMatch = etags.join(', ')
  if (wanted === null) return client.deletePlant(id, { ...action, ifMatch, signal })
  // A member that stays is not sent, so characters that no text field shows stay too.
  const name = seen.every((each) => each.name === wanted.name) ? undefined : wanted.name
  const tag = seen.every((each) => each.tag === wanted.tag) ? undefined : (wanted.tag ?? null)
  await client.updatePlant(id, { name, tag }, { ...action, ifMatch, signal })
}
