import type { NewPlant } from '../plant.ts'
import type { Batch } from './batch.ts'
import { readCsv, writeCsv } from './csv.ts'
import { readNdjson, writeNdjson } from './ndjson.ts'

export const FORMATS = ['ndjson', 'csv'] as const
/** What files of plants can look like: a JSON object in each line, or a table. */
export type Format = (typeof FORMATS)[number]

export const MEDIA_TYPES: Readonly<Record<Format, string>> = { ndjson: 'application/x-ndjson', csv: 'text/csv' }

const EXTENSIONS: Readonly<Record<string, Format>> = { ndjson: 'ndjson', jsonl: 'ndjson', csv: 'csv' }

/** The format of a file, by the last part of its name without `.gz`; undefined when that says nothing. */
export function formatOf(fileName: string): Format | undefined {
  const extension = /\.(\w+)(?:\.gz)?$/.exec(fileName.toLowerCase())?.[1] ?? ''
  return Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined
}

export interface ReadOptions {
  /** Bytes that one row may have. */
  readonly rowLimit: number
  /** The plant in a JSON text. Throws an AppError that names everything that is wrong with it. */
  readonly readPlant: (json: Buffer) => NewPlant
}

/**
 * Reads a file of plants in pieces, in constant memory, and no faster than the batches are taken. A byte order mark at the
 * start is left out. One batch comes for each chunk that completes a row, so the size of the chunks decides how many plants
 * are in a batch.
 *
 * @throws AppError 40001 where nothing that follows can be told apart any more, after all batches before it; what the
 *   source throws is thrown on
 */
export function readPlants(
  format: Format,
  source: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<Batch, void> {
  return format === 'csv' ? readCsv(source, options.rowLimit) : readNdjson(source, options)
}

/** What a file begins with, before all plants; reading and writing again gives the same bytes. */
export const headerOf = (format: Format): string => (format === 'csv' ? 'id,name,tag\r\n' : '')

/** The rows of a file for these plants, in their order. */
export function writePlants(format: Format, plants: readonly NewPlant[]): string {
  return format === 'csv' ? writeCsv(plants) : writeNdjson(plants)
}
