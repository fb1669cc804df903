import { say } from '../../language/language.ts'
import { askBeforeLosing } from '../../page/leaving.ts'
import { Kept } from '../../session/kept.ts'

/** The texts of a plant that is not added yet. */
export interface Typed {
  /** Empty: the page takes a free id. */
  readonly id: string
  readonly name: string
  readonly tag: string
}

export const NOTHING: Typed = { id: '', name: '', tag: '' }

export const typed = new Kept<Typed>('plantstore-new-plant', NOTHING)

/** Whether the form has unsaved texts. A tag alone is left from the plant before. */
export const isTyped = (): boolean => typed.value.id !== '' || typed.value.name !== ''

askBeforeLosing(() => (isTyped() ? say('plants.lossNew') : undefined), { isKept: true })
