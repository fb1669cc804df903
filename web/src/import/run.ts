import type { ImportReport, NewPlant, PlantstoreClient } from '../../../client/src/index.ts'
import type { CsvRow } from '../../../src/import/csv-rows.ts'
import type { Mapping } from '../../../src/import/mapping.ts'
import { sentence } from '../said.ts'
import { IdRanges } from './id-ranges.ts'
import { plantIn, type RowPlant, withId } from './plant-row.ts'
import { rowsOf, type Sheet } from './sheet.ts'

export interface Refused {
  /** Counted as the spreadsheet counts rows. */
  readonly row: number
  readonly reason: string
}

/** The result of an import, or of its check. */
export interface Outcome {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  /** The first MOST_LISTED of them. */
  readonly refusedRows: readonly Refused[]
}

export type Mode = 'add' | 'update'

/** The most refused rows that an outcome lists. */
const MOST_LISTED = 1000

/** Checks and imports one sheet with one mapping. An import that broke off continues with the next plant. */
export class ImportRun {
  readonly #sheet: Sheet
  readonly #mapping: Mapping
  readonly #mode: Mode
  /** The row of each plant, by the position of the plant. */
  #rows: number[] = []
  #unreadable: Refused[] = []
  #unreadableCount = 0
  #ranges: IdRanges | undefined
  #done: ImportReport = { dryRun: false, added: 0, updated: 0, unchanged: 0, refused: 0, refusedRows: [] }

  constructor(sheet: Sheet, mapping: Mapping, mode: Mode) {
    this.#sheet = sheet
    this.#mapping = mapping
    this.#mode = mode
  }

  /** The number of readable plants in the sheet. */
  get count(): number {
    return this.#rows.length
  }

  /** Reads the whole sheet, and has the service import it as a dry run. */
  async check(client: PlantstoreClient, signal: AbortSignal): Promise<Outcome> {
    this.#rows = []
    this.#unreadable = []
    this.#unreadableCount = 0
    // A dry run stores nothing, so free ids need no reservation.
    const first = this.#mapping.id === undefined ? await client.proposeId({ signal }) : 0n
    const plants = this.#plants((_plant, number) => Promise.resolve(first + BigInt(number)), signal, true)
    const report = await client.importPlants(plants, { mode: this.#mode, dryRun: true, signal })
    this.#ranges = new IdRanges(this.#rows.length)
    return this.#outcome(report)
  }

  /**
   * Imports the plants that were not imported yet.
   *
   * @param onProgress called with the number of plants imported so far
   */
  async import(client: PlantstoreClient, onProgress: (done: number) => void, signal: AbortSignal): Promise<Outcome> {
    const before = this.#done
    const skipped = doneIn(before)
    const rest = this.#rest(client, skipped, signal)
    const note = (report: ImportReport) => {
      this.#done = joined(before, report, skipped)
      onProgress(doneIn(this.#done))
    }
    await client.importPlants(rest, { mode: this.#mode, signal, onProgress: note })
    return this.#outcome(this.#done)
  }

  /** Plants that the service has taken or refused so far. */
  get done(): number {
    return doneIn(this.#done)
  }

  /** The outcome so far. */
  get outcome(): Outcome {
    return this.#outcome(this.#done)
  }

  /** Yields the rows of the sheet with the ids that the page assigned. */
  async *rowsWithIds(client: PlantstoreClient): AsyncGenerator<{ readonly row: CsvRow; readonly id: bigint }, void> {
    let number = 0
    for await (const row of rowsOf(this.#sheet)) {
      const plant = plantIn(row, this.#mapping, this.#sheet.columns.length)
      if (typeof plant === 'string') continue
      yield { row, id: await this.#idOf(client, plant, number) }
      number += 1
    }
  }

  async *#rest(client: PlantstoreClient, skipped: number, signal: AbortSignal): AsyncGenerator<NewPlant, void> {
    let number = 0
    for await (const plant of this.#plants((each, at) => this.#idOf(client, each, at, signal), signal, false)) {
      if (number >= skipped) yield plant
      number += 1
    }
  }

  async *#plants(
    idOf: (plant: RowPlant, number: number) => Promise<bigint>,
    signal: AbortSignal,
    isFirst: boolean,
  ): AsyncGenerator<NewPlant, void> {
    let number = 0
    for await (const row of rowsOf(this.#sheet)) {
      signal.throwIfAborted()
      const plant = plantIn(row, this.#mapping, this.#sheet.columns.length)
      if (typeof plant === 'string') {
        if (isFirst) this.#refuse(row.number, plant)
        continue
      }
      if (isFirst) this.#rows.push(row.number)
      yield withId(plant, plant.id ?? (await idOf(plant, number)))
      number += 1
    }
  }

  async #idOf(client: PlantstoreClient, { id }: RowPlant, number: number, signal?: AbortSignal): Promise<bigint> {
    if (id !== undefined) return id
    if (this.#ranges === undefined) throw new Error('The file was not checked.')
    return this.#ranges.idOf(client, number, signal)
  }

  #refuse(row: number, reason: string): void {
    this.#unreadableCount += 1
    if (this.#unreadable.length < MOST_LISTED) this.#unreadable.push({ row, reason })
  }

  #outcome({ added, updated, unchanged, refused, refusedRows }: ImportReport): Outcome {
    const ofService = refusedRows.map(({ line, message }) => ({
      row: this.#rows[line - 1] ?? 0,
      reason: sentence(message),
    }))
    const all = [...this.#unreadable, ...ofService].toSorted((a, b) => a.row - b.row).slice(0, MOST_LISTED)
    return { added, updated, unchanged, refused: refused + this.#unreadableCount, refusedRows: all }
  }
}

const doneIn = ({ added, updated, unchanged, refused }: ImportReport): number => added + updated + unchanged + refused

/** @param skipped the number of plants before those of `next` */
function joined(before: ImportReport, next: ImportReport, skipped: number): ImportReport {
  const moved = next.refusedRows.map((row) => ({ ...row, line: row.line + skipped }))
  return {
    dryRun: false,
    added: before.added + next.added,
    updated: before.updated + next.updated,
    unchanged: before.unchanged + next.unchanged,
    refused: before.refused + next.refused,
    refusedRows: [...before.refusedRows, ...moved].slice(0, MOST_LISTED),
  }
}
