/** An answer needs the search index, which lacks more plants than can be looked at one by one. */
export class BehindError extends Error {
  override readonly name = 'BehindError'

  constructor() {
    super('the search index is too far behind')
  }
}
