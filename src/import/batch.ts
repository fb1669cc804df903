import type { AppError } from '../domain/errors.ts'
import type { NewPlant } from '../domain/plant.ts'
import type { RefusedRow } from './import-summary.ts'

/** The rows that one piece of a file completes. Lines count from 1, by the line feeds of the file. */
export interface Batch {
  readonly plants: readonly NewPlant[]
  /** The line in which each plant begins. */
  readonly lines: readonly number[]
  /** The rows without a valid plant. */
  readonly refused: readonly RefusedRow[]
}

/** The most rows of a batch. */
const MAX_ROWS = 1000

/** Gathers rows until the caller takes them as a batch. */
export class Batcher {
  #plants: NewPlant[] = []
  #lines: number[] = []
  #refused: RefusedRow[] = []

  add(line: number, plant: NewPlant): void {
    this.#plants.push(plant)
    this.#lines.push(line)
  }

  refuse(line: number, { number, message }: AppError): void {
    // An AppError with its stack takes far more memory than a row.
    this.#refused.push({ line, error: number, message })
  }

  get isFull(): boolean {
    return this.#plants.length + this.#refused.length >= MAX_ROWS
  }

  /** Yields the gathered rows as a batch; nothing without rows. */
  *take(): Generator<Batch, void> {
    if (this.#plants.length === 0 && this.#refused.length === 0) return
    const batch = { plants: this.#plants, lines: this.#lines, refused: this.#refused }
    this.#plants = []
    this.#lines = []
    this.#refused = []
    yield batch
  }
}
