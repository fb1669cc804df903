import { type NewPlant, textLength } from '../../domain/plant.ts'

/** Bounds of the plants that one step reads, in plants and in UTF-16 units. */
export const STEP = 64
const STEP_TEXT = 100_000

/** Decides when a task yields to other tasks. */
export class Turn {
  #seen = 0
  #text = 0

  /** @param plant the plant that the task has just read */
  isOverAfter(plant: NewPlant | undefined): boolean {
    this.#seen++
    this.#text += plant === undefined ? 0 : textLength(plant)
    const isOver = this.#seen >= STEP || this.#text >= STEP_TEXT
    if (isOver) this.#seen = this.#text = 0
    return isOver
  }
}
