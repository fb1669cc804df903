import { type NewPlant, type PlantstoreClient, PlantstoreError } from '../../../client/src/index.ts'
import { Kept } from '../kept.ts'
import { say } from '../language/language.ts'
import { askBeforeLosing } from '../leaving.ts'
import { isRefusal } from '../said.ts'

/** The texts of a plant that is not added yet. */
export interface Typed {
  /** Empty: the page takes a free id. */
  readonly id: string
  readonly name: string
  readonly tag: string
  /** The id of the last attempt if its answer was lost: the plant may be stored under it. */
  readonly tried?: string
}

export const NOTHING: Typed = { id: '', name: '', tag: '' }

export const typed = new Kept<Typed>('plantstore-new-plant', NOTHING)

/** Whether the form has unsaved texts. A tag alone is left from the plant before. */
export const isTyped = (): boolean => typed.value.id !== '' || typed.value.name !== ''

askBeforeLosing(() => (isTyped() ? say('plants.lossNew') : undefined), { isKept: true })

/**
 * Creates the plant once, even if the answer to the last attempt was lost. If another client has taken the proposed id
 * meanwhile, it takes the next free one.
 *
 * @param own the id that the person has typed
 */
export async function create(
  client: PlantstoreClient,
  sent: Typed,
  own: bigint | undefined,
  freeId: () => Promise<bigint>,
): Promise<NewPlant> {
  const { name, tag, tried } = sent
  const plantOf = (id: bigint): NewPlant => (tag === '' ? { id, name } : { id, name, tag })
  if (tried !== undefined) {
    const plant = plantOf(BigInt(tried))
    try {
      await client.createPlant(plant)
      return plant
    } catch (error) {
      if (!isRefusal(error, 40901)) throw error
    }
  }
  for (;;) {
    const plant = plantOf(own ?? (await freeId()))
    try {
      await client.createPlant(plant, { mustBeNew: true })
      return plant
    } catch (error) {
      if (own === undefined && isRefusal(error, 41201)) continue
      const isOpen = !(error instanceof PlantstoreError) || error.status >= 500
      if (isOpen && typed.value === sent) typed.value = { ...sent, tried: String(plant.id) }
      throw error
    }
  }
}
