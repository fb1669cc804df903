import type { NewPlant } from '../../plant.ts'
import { textOf } from '../rows.ts'

/** How much a page holds: so many plants, or those whose texts have so many UTF-16 units together, and one more. */
export interface PageLimit {
  readonly plants: number
  readonly text: number
}

/** The plants of one page, up to its limit. */
export class ResultPage {
  readonly plants: NewPlant[] = []
  readonly #limit: PageLimit
  /** Of all but the last of them. */
  #text = 0

  constructor(limit: PageLimit) {
    this.#limit = limit
  }

  add(plant: NewPlant): void {
    const last = this.plants.at(-1)
    if (last !== undefined) this.#text += textOf(last)
    this.plants.push(plant)
  }

  get isFull(): boolean {
    return this.plants.length >= this.#limit.plants || this.#text >= this.#limit.text
  }
}
