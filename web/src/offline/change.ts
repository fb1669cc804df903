import type { ActionOptions, KeptPlant, StoredPlant } from '../../../client/src/index.ts'

/** A plant without its id. */
export type Content = Pick<StoredPlant, 'name' | 'tag'>

/** A change of one plant: from what the person saw to what they want. null: no plant. */
export interface Change {
  /** undefined: the page takes a free id. */
  readonly id: bigint | undefined
  readonly base: Content | null
  readonly wanted: Content | null
}

/** A change of a plant whose id is known. */
export type Numbered = Change & { readonly id: bigint }

/** Whose change it is. It goes out with this token, and to this store, and with no other. */
export interface Owner {
  /** The id of the token, which outlives none of its secrets. */
  readonly token: string
  readonly name: string
  /** undefined: the service did not name its store. */
  readonly store: string | undefined
}

/** A change that waits until the service has it. There is at most one for each plant. */
export interface Waiting extends Change {
  readonly key: string
  /** Whether the person has chosen the id, so that no other one will do. */
  readonly isOwnId: boolean
  /** Milliseconds since 1970. The changes are sent in this order. */
  readonly at: number
  readonly owner: Owner
  /** What the person has done together with others by this change. undefined: it is a single one. */
  readonly action?: ActionOptions | undefined
  /** What the last request wanted. Where its answer was lost, the store may have it. */
  readonly tried?: { readonly plant: Content | null } | undefined
  /** What the store has instead of `base`: the person decides. */
  readonly met?: { readonly theirs: KeptPlant | null } | undefined
  /** Why the service refuses the change. */
  readonly refusal?: { readonly number: number; readonly message: string } | undefined
}

export const isSame = (one: Content | null, other: Content | null): boolean =>
  one === null || other === null ? one === other : one.name === other.name && one.tag === other.tag

/** Whether the change waits for the person instead of the service. */
export const isHeld = ({ met, refusal }: Waiting): boolean => met !== undefined || refusal !== undefined

/** Whether the service has failed at the change alone, though it answers: a later attempt may succeed. */
export const isFailing = ({ met, refusal }: Waiting): boolean => met === undefined && refusal?.number === 50001
