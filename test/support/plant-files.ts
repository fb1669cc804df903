import { writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { MAX_ID, MIN_ID, type NewPlant } from '../../src/domain/plant.ts'
import { CSV_HEADER, csvRow } from '../../src/import/csv.ts'
import type { Format } from '../../src/import/format.ts'
import { ndjsonRow } from '../../src/import/ndjson.ts'

/** A name for each kind of file that commands know by its extension. */
export const KINDS = ['plants.ndjson', 'plants.jsonl.gz', 'plants.csv', 'plants.csv.gz'] as const

/** Plants in the order of an export: with texts that a careless file format spoils, and ids that a double rounds. */
export const PLANTS: readonly NewPlant[] = [
  { id: MIN_ID, name: '', tag: undefined },
  { id: -1n, name: 'Köchin "Ana", 100 %', tag: '' },
  { id: 0n, name: 'two\nlines\r\nand a third', tag: ' spaced ' },
  { id: 7n, name: 'Ginkgo 🌿 銀杏', tag: 'tree' },
  { id: 2n ** 53n, name: '\u001b[31mred\u001b[0m', tag: 'fern' },
  { id: 2n ** 53n + 1n, name: '=SUM(A1)', tag: "'" },
  { id: MAX_ID, name: 'a\tb\u2028c\ufeff', tag: 'tree' },
]

/** Plants with ids from `first` on. */
export function manyPlants(count: number, first = 0): NewPlant[] {
  return Array.from({ length: count }, (_, i) => first + i).map((number) => ({
    id: BigInt(number),
    name: `Plant number ${number}`,
    tag: number % 3 === 0 ? undefined : `tag ${number % 7}`,
  }))
}

export const textOf = (format: Format, plants: readonly NewPlant[]): string =>
  format === 'csv' ? CSV_HEADER + plants.map(csvRow).join('') : plants.map((plant) => ndjsonRow(plant)).join('')

/** Writes a file of these plants. Its extension determines the format. */
export function writePlantFile(path: string, plants: readonly NewPlant[]): void {
  const bytes = Buffer.from(textOf(path.includes('.csv') ? 'csv' : 'ndjson', plants))
  writeFileSync(path, path.endsWith('.gz') ? gzipSync(bytes) : bytes)
}

/** The text of a file, decompressed if necessary. */
export const contentOf = (path: string, bytes: Buffer): string =>
  (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
