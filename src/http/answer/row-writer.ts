import { Turns } from '../../base/time-slice.ts'

/** Rows that are written in one turn of the event loop: a page of most clients. */
const FEW = 100

/**
 * Writes the JSON arrays of answers. Long ones are written one after the other, each in short turns of the event loop:
 * eight pages of a thousand plants of the largest size would hold it for 0.3 s. Callers write in the place that admitted
 * the read, so that answers of one token do not fill the line of all others.
 */
export class RowWriter {
  #last: Promise<void> = Promise.resolve()

  async write<Row>(rows: readonly Row[], toJson: (row: Row) => string): Promise<string> {
    if (rows.length <= FEW) return `[${rows.map(toJson).join(',')}]`
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    await before
    try {
      const turns = new Turns()
      const texts: string[] = []
      for (const row of rows) {
        texts.push(toJson(row))
        if (turns.isOver) await turns.next()
      }
      await turns.next()
      return `[${texts.join(',')}]`
    } finally {
      resolve()
    }
  }
}
