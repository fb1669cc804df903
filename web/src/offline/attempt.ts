import type { KeptPlant, PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { isRefusal } from '../page/said.ts'
import { type Content, isSame, type Waiting } from './change.ts'

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
}

/** Makes a change of a plant that is as the person saw it. It may be repeated, and then ends in the same state. */
export async function attempt({ id, base, wanted }: Numbered, using: Attempt): Promise<Answer> {
  const { client, tried, signal, mayRead } = using
  if (base === null && wanted !== null) {
    try {
      await client.createPlant(plantOf(id, wanted), { mustBeNew: tried === undefined, signal })
      return { kind: 'stored' }
    } catch (error) {
      if (!isTaken(error)) throw error
      if (!mayRead) return { kind: 'met', theirs: undefined }
    }
  }
  const current = await read(id, using)
  const content = current?.plant ?? null
  if (isSame(content, wanted) && (base !== null || tried !== undefined)) return { kind: 'stored' }
  const isKnown = isSame(content, base) || (tried !== undefined && isSame(content, tried.plant))
  if (!isKnown) return { kind: 'met', theirs: current }
  try {
    await write(id, current, wanted, using)
    return { kind: 'stored' }
  } catch (error) {
    if (!isTaken(error) && !isRefusal(error, 40402)) throw error
  }
  // Another client has written between the reading and the write.
  const theirs = await read(id, using)
  return isSame(theirs?.plant ?? null, wanted) ? { kind: 'stored' } : { kind: 'met', theirs }
}

type Numbered = Pick<Waiting, 'base' | 'wanted'> & { readonly id: bigint }

const isTaken = (error: unknown): boolean => isRefusal(error, 41201) || isRefusal(error, 40901)

export const plantOf = (id: bigint, { name, tag }: Content): StoredPlant =>
  tag === undefined ? { id, name } : { id, name, tag }

async function read(id: bigint, { client, signal }: Attempt): Promise<KeptPlant | null> {
  try {
    return await client.getPlant(id, { signal })
  } catch (error) {
    if (isRefusal(error, 40402)) return null
    throw error
  }
}

async function write(
  id: bigint,
  current: KeptPlant | null,
  wanted: Content | null,
  { client, signal }: Attempt,
): Promise<void> {
  if (current === null) {
    if (wanted !== null) await client.createPlant(plantOf(id, wanted), { mustBeNew: true, signal })
    return
  }
  const { plant, etag: ifMatch } = current
  if (wanted === null) return client.deletePlant(id, { ifMatch, signal })
  // A member that stays is not sent, so characters that no text field shows stay too.
  const name = wanted.name === plant.name ? undefined : wanted.name
  const tag = wanted.tag === plant.tag ? undefined : (wanted.tag ?? null)
  await client.updatePlant(id, { name, tag }, { ifMatch, signal })
}
