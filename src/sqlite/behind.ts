/** An answer needs the indexes, and so many plants, or more, are not in them yet. */
export class BehindError extends Error {
  override readonly name = 'BehindError'
  readonly plants: number

  constructor(plants: number) {
    super(`${plants} plants are not indexed yet`)
    this.plants = plants
  }
}
