import { AppError } from '../../src/domain/errors.ts'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { ReadOptions } from '../../src/import/batch.ts'
import { type Format, readPlants } from '../../src/import/format.ts'

/** The result of reading a file, in the order of its lines. */
export interface Read {
  readonly plants: readonly (readonly [line: number, plant: NewPlant])[]
  readonly refused: readonly (readonly [line: number, error: number, message: string])[]
  /** The error that ended the reading early. */
  readonly fault: string | undefined
}

/** @param pieces bytes in each chunk; by default the whole file */
export async function readAll(
  format: Format,
  file: string | Buffer,
  { pieces = Number.POSITIVE_INFINITY, ...options }: ReadOptions & { pieces?: number } = {},
): Promise<Read> {
  const plants: [number, NewPlant][] = []
  const refused: [number, number, string][] = []
  let fault: string | undefined
  try {
    for await (const batch of readPlants(format, chunksOf(Buffer.from(file), pieces), options)) {
      for (const [i, plant] of batch.plants.entries()) plants.push([batch.lines[i] ?? 0, plant])
      for (const { line, error, message } of batch.refused) refused.push([line, error, message])
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    fault = `${error.number} ${error.message}`
  }
  return { plants, refused, fault }
}

export async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
