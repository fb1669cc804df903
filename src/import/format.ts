import type { NewPlant } from '../plant.ts'
import type { Batch } from './batch.ts'
import { CSV_HEADER, csvRow, readCsv } from './csv.ts'
import { ndjsonRow, readNdjson } from './ndjson.ts'

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
  /** Bytes that a name, and a tag, may have as JSON. A row may have twice as many and its id. */
  readonly textLimit: number
  /** Levels of arrays and objects that a row of NDJSON may have. */
  readonly nestingLimit: number
}

/**
 * Reads a file of plants in pieces, in constant memory, and no faster than the batches are taken. A byte order mark at
 * the start is left out. A batch has the rows that a chunk has completed, and at most a thousand.
 *
 * @throws AppError 40001 where nothing that follows can be told apart any more, after all batches before it; what the
 *   source throws is thrown on
 */
export function readPlants(
  format: Format,
  source: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<Batch, void> {
  return format === 'csv' ? readCsv(source, options.textLimit) : readNdjson(source, options)
}

/** What a file begins with, before all plants. */
export const headerOf = (format: Format): string => (format === 'csv' ? CSV_HEADER : '')

/** The rows of a file for these plants, in their order. Reading a file and writing it again gives the same bytes. */
export function writePlants(format: Format, plants: readonly NewPlant[]): string {
  const rowOf = format === 'csv' ? csvRow : ndjsonRow
  let text = ''
  for (const plant of plants) text += rowOf(plant)
  return text
}

/**
 * Writes a whole file in pieces of about 64 KiB, however large single plants are, and no faster than they are taken.
 */
export async function* writeFile(
  format: Format,
  pages: AsyncIterable<readonly NewPlant[]>,
): AsyncGenerator<string, void> {
  const rowOf = format === 'csv' ? csvRow : ndjsonRow
  let piece = headerOf(format)
  for await (const page of pages) {
    for (const plant of page) {
      piece += rowOf(plant)
      if (piece.length < PIECE) continue
      yield piece
      piece = ''
    }
  }
  if (piece !== '') yield piece
}

/** UTF-16 code units. */
const PIECE = 2 ** 16
