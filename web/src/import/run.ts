import type { ImportReport, NewPlant, PlantstoreClient } from '../../../client/src/index.ts'
import type { CsvRow, Mapping } from '../../../src/import/csv-rows.ts'
import { say } from '../language/language.ts'
import { PageError, saidOf } from '../said.ts'
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
  /** Rows left out, because their name and tag are stored already. */
  readonly leftOut: number
  /** The first MOST_LISTED of them. */
  readonly refusedRows: readonly Refused[]
}

export type Mode = 'add' | 'update'

type Counts = Pick<ImportReport, 'added' | 'updated' | 'unchanged' | 'refused'>

/** The most refused rows that an outcome lists. */
const MOST_LISTED = 1000
/** Plants of one request. The service lists as many duplicates of a check, and as many refused rows of an import. */
const MOST_CHECKED = 50_000
const MOST_IMPORTED = 1000
/** UTF-16 units of the texts after which a request is full. */
const MOST_TEXT = 2 ** 20

/** A plant of the sheet with the number of its row. */
interface Numbered {
  readonly row: number
  readonly plant: RowPlant
}

/** Checks and imports one sheet with one mapping. An import that broke off continues with the next plant. */
export class ImportRun {
  readonly #sheet: Sheet
  readonly #mapping: Mapping
  readonly #mode: Mode
  /** The number of plants in the sheet. */
  #plantCount = 0
  #unreadable: Refused[] = []
  #unreadableCount = 0
  /** In a sheet without ids, the rows whose name and tag a stored plant has, with its id. */
  readonly #stored = new Map<number, bigint>()
  /** The rows that the service refused, with its reasons. */
  #refused = new Map<number, string>()
  #counts = NOTHING
  #ranges: IdRanges | undefined
  #leavesOut = true

  constructor(sheet: Sheet, mapping: Mapping, mode: Mode) {
    this.#sheet = sheet
    this.#mapping = mapping
    this.#mode = mode
  }

  /** The number of rows whose name and tag are stored already. */
  get duplicates(): number {
    return this.#stored.size
  }

  /** The number of plants to import. */
  get count(): number {
    return this.#plantCount - this.#leftOut
  }

  /** Plants that the service has taken or refused so far. */
  get done(): number {
    const { added, updated, unchanged, refused } = this.#counts
    return added + updated + unchanged + refused
  }

  /** Whether the reason of each refused row is known. A check lists only the first ones of the service. */
  get knowsRefused(): boolean {
    return this.#refused.size === this.#counts.refused
  }

  get outcome(): Outcome {
    const byService = Array.from(this.#refused, ([row, reason]) => ({ row, reason })).slice(0, MOST_LISTED)
    const refusedRows = [...this.#unreadable, ...byService].toSorted((a, b) => a.row - b.row).slice(0, MOST_LISTED)
    const refused = this.#counts.refused + this.#unreadableCount
    return { ...this.#counts, refused, leftOut: this.#leftOut, refusedRows }
  }

  /** Reads the whole sheet, and has the service import it as a dry run. Counts no row as left out. */
  async check(client: PlantstoreClient, signal: AbortSignal): Promise<Outcome> {
    const assignsIds = this.#mapping.id === undefined
    // A dry run stores nothing, so free ids need no reservation.
    const first = assignsIds ? await client.proposeId({ signal }) : 0n
    const refuse = (refused: Refused) => {
      this.#unreadableCount += 1
      if (this.#unreadable.length < MOST_LISTED) this.#unreadable.push(refused)
    }
    // A row may depend on any earlier one with its id, so a sheet with ids goes in one request.
    const most = assignsIds ? MOST_CHECKED : Number.POSITIVE_INFINITY
    for await (const part of partsOf(this.#plants(signal, refuse), most, Number.POSITIVE_INFINITY)) {
      const plants = part.map(({ plant }, i) => withId(plant, plant.id ?? first + BigInt(this.#plantCount + i)))
      const options = { mode: this.#mode, dryRun: true, ...(assignsIds ? { duplicates: true } : {}), signal }
      const report = await client.importPlants(plants, options)
      for (const { line, id } of report.duplicateRows ?? []) this.#stored.set(rowAt(part, line), id)
      this.#take(report, part)
      this.#plantCount += part.length
    }
    return { ...this.outcome, leftOut: 0 }
  }

  /**
   * Imports the plants that were not imported yet.
   *
   * @param leavesOut whether to leave out the rows whose name and tag are stored already
   * @param onProgress called with the number of plants imported so far
   */
  async import(
    client: PlantstoreClient,
    leavesOut: boolean,
    onProgress: (done: number) => void,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (this.#ranges === undefined) {
      this.#leavesOut = leavesOut
      this.#counts = NOTHING
      this.#refused = new Map()
      this.#ranges = new IdRanges(this.count)
    }
    for await (const part of partsOf(this.#rest(signal, this.done), MOST_IMPORTED, MOST_TEXT)) {
      const plants: NewPlant[] = []
      for (const { plant } of part) {
        plants.push(withId(plant, await this.#idOf(client, plant, this.done + plants.length, signal)))
      }
      this.#take(await client.importPlants(plants, { mode: this.#mode, signal }), part)
      onProgress(this.done)
    }
    return this.outcome
  }

  /** Yields the rows of the sheet with their ids: those that the page assigned, and those of plants stored before. */
  async *rowsWithIds(client: PlantstoreClient): AsyncGenerator<{ readonly row: CsvRow; readonly id: bigint }, void> {
    let number = 0
    for await (const row of rowsOf(this.#sheet)) {
      const plant = plantIn(row, this.#mapping, this.#sheet.columns.length)
      if (typeof plant === 'string') continue
      const stored = this.#leavesOut ? this.#stored.get(row.number) : undefined
      yield { row, id: stored ?? (await this.#idOf(client, plant, number)) }
      if (stored === undefined) number += 1
    }
  }

  /** Yields the refused rows of the sheet, with the reasons. */
  async *refusedRows(): AsyncGenerator<{ readonly row: CsvRow; readonly reason: string }, void> {
    for await (const row of rowsOf(this.#sheet)) {
      const plant = plantIn(row, this.#mapping, this.#sheet.columns.length)
      const reason = typeof plant === 'string' ? plant : this.#refused.get(row.number)
      if (reason !== undefined) yield { row, reason }
    }
  }

  get #leftOut(): number {
    return this.#leavesOut ? this.#stored.size : 0
  }

  async *#plants(signal: AbortSignal, refuse: (refused: Refused) => void): AsyncGenerator<Numbered, void> {
    for await (const row of rowsOf(this.#sheet)) {
      signal.throwIfAborted()
      const plant = plantIn(row, this.#mapping, this.#sheet.columns.length)
      if (typeof plant === 'string') refuse({ row: row.number, reason: plant })
      else yield { row: row.number, plant }
    }
  }

  /** Yields the plants to import, without the first ones. */
  async *#rest(signal: AbortSignal, skipped: number): AsyncGenerator<Numbered, void> {
    let number = 0
    for await (const each of this.#plants(signal, () => {})) {
      if (this.#leavesOut && this.#stored.has(each.row)) continue
      if (number >= skipped) yield each
      number += 1
    }
  }

  async #idOf(client: PlantstoreClient, { id }: RowPlant, number: number, signal?: AbortSignal): Promise<bigint> {
    if (id !== undefined) return id
    if (this.#ranges === undefined) throw new PageError(say('import.notChecked'))
    return this.#ranges.idOf(client, number, signal)
  }

  #take(report: ImportReport, part: readonly Numbered[]): void {
    const before = this.#counts
    this.#counts = {
      added: before.added + report.added,
      updated: before.updated + report.updated,
      unchanged: before.unchanged + report.unchanged,
      refused: before.refused + report.refused,
    }
    for (const { line, error, message } of report.refusedRows) {
      this.#refused.set(rowAt(part, line), saidOf(error, message))
    }
  }
}

const NOTHING: Counts = { added: 0, updated: 0, unchanged: 0, refused: 0 }

/** The number of the row that a line of a request had. */
const rowAt = (part: readonly Numbered[], line: number): number => part[line - 1]?.row ?? 0

/** Divides plants into parts of at most so many plants, which end with the plant that fills them with text. */
async function* partsOf(
  plants: AsyncIterable<Numbered>,
  most: number,
  mostText: number,
): AsyncGenerator<readonly Numbered[], void> {
  let part: Numbered[] = []
  let text = 0
  for await (const each of plants) {
    part.push(each)
    text += each.plant.name.length + (each.plant.tag?.length ?? 0)
    if (part.length < most && text < mostText) continue
    yield part
    part = []
    text = 0
  }
  if (part.length > 0) yield part
}
