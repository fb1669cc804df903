import type { NewPlant } from '../domain/plant.ts'
import type { Batch, ReadOptions } from './batch.ts'
import { CSV_HEADER, csvRow, readCsv } from './csv.ts'
import { asUtf8 } from './encoding.ts'
import { ndjsonRow, readNdjson } from './ndjson.ts'
import { readStreamedSheet } from './sheet/read-sheet.ts'

export const FORMATS = ['ndjson', 'csv'] as const
/** The formats of files of plants: a JSON object in each line, or a table. */
export type Format = (typeof FORMATS)[number]

export const MEDIA_TYPES: Readonly<Record<Format, string>> = { ndjson: 'application/x-ndjson', csv: 'text/csv' }

const EXTENSIONS: Readonly<Record<string, Format>> = { ndjson: 'ndjson', jsonl: 'ndjson', csv: 'csv' }

/** The plants of a filter that no plant matches. */
export const NO_PLANTS: AsyncIterable<readonly NewPlant[]> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
}

/** The format of a file by its extension, without `.gz`; undefined for another extension. */
export function formatOf(fileName: string): Format | undefined {
  const extension = /\.(\w+)(?:\.gz)?$/.exec(fileName.toLowerCase())?.[1] ?? ''
  return Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined
}

/**
 * Reads a file of plants in pieces, in constant memory, and no faster than the caller takes the batches. Skips a byte
 * order mark at the start. A batch has the rows that a chunk has completed, at most a thousand.
 *
 * @throws AppError 40001 or 41301 if the file is not readable, after the last batch; any error of the source
 */
export function readPlants(
  format: Format,
  source: AsyncIterable<Buffer>,
  options: ReadOptions = {},
): AsyncGenerator<Batch, void> {
  const { charset, columns, mode = 'add' } = options
  if (format === 'csv' && columns !== undefined) {
    return readStreamedSheet(source, columns, charset === 'utf-8' ? { encoding: charset } : {}, mode)
  }
  const text = asUtf8(source, charset)
  return format === 'csv' ? readCsv(text, mode) : readNdjson(text, options)
}

/**
 * Yields a whole file in pieces of about 64 KiB, whatever the size of a plant, and no faster than the caller takes
 * them.
 */
export async function* writeFile(
  format: Format,
  pages: AsyncIterable<readonly NewPlant[]>,
): AsyncGenerator<string, void> {
  const rowOf = format === 'csv' ? csvRow : ndjsonRow
  let piece = format === 'csv' ? CSV_HEADER : ''
  for await (const page of pages) {
    for (const plant of page) {
      piece += rowOf(plant)
      if (piece.length < PIECE_LENGTH) continue
      yield piece
      piece = ''
    }
  }
  if (piece !== '') yield piece
}

const PIECE_LENGTH = 2 ** 16
