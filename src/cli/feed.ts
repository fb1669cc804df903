import type { Batch } from '../import/batch.ts'
import type { Outcome } from './import-summary.ts'

/** Imports the content of a file, and tells what became of its rows as soon as that is known. */
export type Importer = (content: AsyncIterable<Buffer>, take: (outcome: Outcome) => void) => Promise<void>

/** What became of the plants of a batch. Refused ones are told by their place in it, from 0. */
export interface BatchOutcome {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  readonly refusals: readonly { readonly index: number; readonly error: number; readonly message: string }[]
}

/**
 * Puts each batch while the next one is being read. Ends, also by an error, only when nothing is under way any more.
 *
 * @param put resolves when the plants are stored
 */
export async function feed(
  batches: AsyncIterable<Batch>,
  put: (batch: Batch) => Promise<BatchOutcome>,
  take: (outcome: Outcome) => void,
): Promise<void> {
  let underWay = Promise.resolve()
  try {
    for await (const batch of batches) {
      await underWay
      underWay = put(batch).then((outcome) => take(inLines(batch, outcome)))
      // What goes wrong meanwhile is thrown where it is awaited.
      underWay.catch(() => {})
    }
  } finally {
    await underWay
  }
}

/** Refused rows of both kinds, by their lines in the file: those that were no plants, and those that could not be stored. */
function inLines({ lines, refused }: Batch, { refusals, ...outcome }: BatchOutcome): Outcome {
  const unreadable = refused.map(({ line, refusal }) => ({ line, error: refusal.number, message: refusal.message }))
  const unstored = refusals.map(({ index, error, message }) => ({ line: lines[index] ?? 0, error, message }))
  const refusedRows = unreadable.length === 0 ? unstored : [...unreadable, ...unstored].sort((a, b) => a.line - b.line)
  return { ...outcome, refused: outcome.refused + refused.length, refusedRows }
}
