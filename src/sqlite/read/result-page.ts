import { type NewPlant, textLength } from '../../domain/plant.ts'

/**
 * Bounds of a page: a number of plants, and UTF-16 units of their texts. A page that reaches `text` has one extra
 * plant, which shows the caller that there is another page.
 */
export interface PageLimit {
  readonly plants: number
  readonly text: number
}

/** Collects the plants of one page, until it is full. */
export class ResultPage {
  readonly plants: NewPlant[] = []
  readonly #limit: PageLimit
  /** UTF-16 units of all plants except the last. */
  #text = 0

  constructor(limit: PageLimit) {
    this.#limit = limit
  }

  add(plant: NewPlant): void {
    const last = this.plants.at(-1)
    if (last !== undefined) this.#text += textLength(last)
    this.plants.push(plant)
  }

  get isFull(): boolean {
    return this.plants.length >= this.#limit.plants || this.#text >= this.#limit.text
  }
}
