import type {
  ActionOptions,
  ImportedPlant,
  ImportReport,
  PlantstoreClient,
  StoredPlant,
} from '../../../client/src/index.ts'
import type { CsvRow, Mapping } from '../../../src/import/csv-rows.ts'
import { isHeading, type Findings as Look, SheetLook } from '../../../src/import/sheet/look.ts'
import { IN_LIST, rowText } from '../../../src/import/sheet/row-text.ts'
import { withTagsAbove } from '../../../src/import/sheet/tags-above.ts'
import { say } from '../language/language.ts'
import { PageError, saidOf } from '../page/said.ts'
import { newAction } from '../plants/many/action-name.ts'
import { IdRanges } from './id-ranges.ts'
import { plantIn, type RowPlant, withId } from './plant-row.ts'
import { type Candidate, type RowWithId, recall } from './remembered.ts'
import { rowsOf, type Sheet } from './sheet.ts'
import { MOST_COMPARED, plantsLike, plantsRecalled, type Similar } from './similar.ts'

export interface Refused {
  /** Counted as the spreadsheet counts rows. */
  readonly row: number
  readonly reason: string
  readonly text: string
  /** Whether it is no plant but a heading, which is left out. */
  readonly isHeading?: boolean
}

/** The result of an import, or of its check. */
export interface Outcome {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  /** Rows left out: their name and tag are stored already, or they are no plants. */
  readonly leftOut: number
  /** The first MOST_LISTED of them. */
  readonly refusedRows: readonly Refused[]
}

export type Mode = 'add' | 'update'

/** How to read the sheet. Each change needs another check. */
export interface Plan {
  readonly mapping: Mapping
  readonly mode: Mode
  /** Whether a row without a tag takes that of the row above. */
  readonly fillsTags: boolean
}

/** What the person decides after the check. */
export interface Decisions {
  /** Whether to leave out the rows whose name and tag are stored already. */
  readonly leavesOut: boolean
  /** The rows that look like totals or headings and are left out. */
  readonly leaving: ReadonlySet<number>
  /** The rows that change the stored plant that they look like. The others add a plant. */
  readonly changing: ReadonlySet<number>
}

/** What the check finds beside the figures. */
export interface Findings extends Look {
  /** Rows without ids whose name and tag are stored already. */
  readonly duplicates: number
  readonly similar: readonly Similar[]
}

type Counts = Pick<ImportReport, 'added' | 'updated' | 'unchanged' | 'refused'>

/** The most refused rows that an outcome lists. */
const MOST_LISTED = 1000
/** Plants of one request. The service lists as many duplicates of a check, and as many refused rows of an import. */
const MOST_CHECKED = 50_000
const MOST_IMPORTED = 1000
/** UTF-16 units of the texts after which a request is full. */
const MOST_TEXT = 2 ** 20

/** A plant of the sheet with its row. */
interface Numbered {
  readonly row: CsvRow
  readonly plant: RowPlant
  /** The plant that the row changes. */
  readonly stored?: StoredPlant | undefined
}

/** Checks and imports one sheet by one plan. An import that broke off continues with the next plant. */
export class ImportRun {
  readonly #sheet: Sheet
  readonly #plan: Plan
  /** The name under which the browser remembers the rows of the file. */
  readonly #file: string
  /** The actions that the parts of the import are: no token joins the action of another one, and each has its client. */
  readonly #names = new Map<PlantstoreClient, ActionOptions>()
  /** The number of plants in the sheet. */
  #plantCount = 0
  /** The actions that the service keeps, so that they can be undone. */
  readonly actions = new Set<string | undefined>()
  #unreadable: Refused[] = []
  #unreadableCount = 0
  /** In a sheet without ids, the rows whose name and tag a stored plant has, with its id. */
  readonly #stored = new Map<number, bigint>()
  /** The rows that the service refused, with its reasons. */
  #refused = new Map<number, Omit<Refused, 'row'>>()
  #counts = NOTHING
  #ranges: IdRanges | undefined
  /** Headings among the rows without a plant. */
  #headings = 0
  #findings: Findings
  #decisions: Decisions = { leavesOut: false, leaving: new Set(), changing: new Set() }

  constructor(sheet: Sheet, plan: Plan, file: string) {
    this.#sheet = sheet
    this.#plan = plan
    this.#file = file
    this.#findings = { ...new SheetLook(plan.mapping).findings, duplicates: 0, similar: [] }
  }

  get findings(): Findings {
    return this.#findings
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
    const byService = Array.from(this.#refused, ([row, why]) => ({ row, ...why })).slice(0, MOST_LISTED)
    const refusedRows = [...this.#unreadable, ...byService].toSorted((a, b) => a.row - b.row).slice(0, MOST_LISTED)
    const refused = this.#counts.refused + this.#unreadableCount - this.#headings
    return { ...this.#counts, refused, leftOut: this.#leftOut + this.#headings, refusedRows }
  }

  /** The outcome of the check, as the decisions make it. */
  checked(decisions: Decisions): Outcome {
    this.#decisions = decisions
    const { outcome } = this
    const changes = this.#changes.length
    return { ...outcome, added: outcome.added - this.#leftOut - changes, updated: outcome.updated + changes }
  }

  /** Reads the whole sheet, and has the service import it as a dry run. */
  async check(client: PlantstoreClient, signal: AbortSignal): Promise<void> {
    const assignsIds = this.#plan.mapping.id === undefined
    // A dry run stores nothing, so free ids need no reservation.
    const first = assignsIds ? await client.proposeId({ signal }) : 0n
    const look = new SheetLook(this.#plan.mapping)
    const rows: number[] = []
    const added: Numbered[] = []
    const refuse = (row: CsvRow, reason: string) => {
      const heading = isHeading(row, this.#sheet.columns, this.#plan.mapping)
      if (heading) this.#headings += 1
      else look.look(row, false)
      this.#unreadableCount += 1
      const refused = { row: row.number, reason, text: rowText(row, IN_LIST), isHeading: heading }
      if (this.#unreadable.length < MOST_LISTED) this.#unreadable.push(refused)
    }
    // A row may depend on any earlier one with its id, so a sheet with ids goes in one request.
    const most = assignsIds ? MOST_CHECKED : Number.POSITIVE_INFINITY
    for await (const part of partsOf(this.#plants(signal, refuse), most, Number.POSITIVE_INFINITY)) {
      const plants = part.map(({ plant }, i) => withId(plant, plant.id ?? first + BigInt(this.#plantCount + i)))
      const options = { mode: this.#plan.mode, dryRun: true, ...(assignsIds ? { duplicates: true } : {}), signal }
      const report = await client.importPlants(plants, options)
      for (const { line, id } of report.duplicateRows ?? []) this.#stored.set(rowAt(part, line), id)
      this.#take(report, part)
      this.#plantCount += part.length
      for (const each of part) {
        look.look(each.row)
        if (!assignsIds) continue
        rows.push(each.row.number)
        if (added.length <= 2 * MOST_COMPARED && !this.#stored.has(each.row.number)) added.push(each)
      }
    }
    this.#findings = { ...look.findings, duplicates: this.#stored.size, similar: [] }
    const similar = await this.#similar(client, rows, added, signal)
    this.#findings = { ...this.#findings, similar: similar.toSorted((a, b) => a.row - b.row) }
  }

  /**
   * Imports the plants that were not imported yet.
   *
   * @param onProgress called with the number of plants imported so far
   */
  async import(
    client: PlantstoreClient,
    decisions: Decisions,
    onProgress: (done: number) => void,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (this.#ranges === undefined) {
      this.#decisions = decisions
      this.#counts = NOTHING
      this.#refused = new Map()
      this.#ranges = new IdRanges(this.count - this.#changes.length)
    }
    for await (const part of partsOf(this.#rest(signal, this.done), MOST_IMPORTED, MOST_TEXT)) {
      const plants: ImportedPlant[] = []
      const isChange = part[0]?.stored !== undefined
      for (const { plant, stored } of part) {
        const number = this.done + plants.length - this.#changes.length
        if (stored === undefined) plants.push(withId(plant, await this.#idOf(client, plant, number, signal)))
        else plants.push({ ...withId(plant, stored.id), before: stored })
      }
      const options = { ...this.#nameFor(client), mode: isChange ? 'update' : this.#plan.mode, signal }
      const report = await client.importPlants(plants, options)
      this.actions.add(report.action)
      this.#take(report, part)
      onProgress(this.done)
    }
    return this.outcome
  }

  /** Yields the rows of the sheet with their ids: those that the page assigned, and those of plants stored before. */
  async *rowsWithIds(client: PlantstoreClient): AsyncGenerator<RowWithId, void> {
    for await (const { row, id } of this.#numbered(client)) yield { row, id }
  }

  /** Yields the plants that the import has added or changed, where the page assigned their ids. */
  async *imported(client: PlantstoreClient): AsyncGenerator<StoredPlant, void> {
    const changing = new Set(this.#changes.map(({ row }) => row))
    for await (const { row, plant, id, isNew } of this.#numbered(client)) {
      if ((isNew || changing.has(row.number)) && !this.#refused.has(row.number)) yield withId(plant, id)
    }
  }

  /** Yields the refused rows of the sheet, with the reasons. */
  async *refusedRows(): AsyncGenerator<{ readonly row: CsvRow; readonly reason: string }, void> {
    for await (const row of this.#rows()) {
      const plant = plantIn(row, this.#plan.mapping, this.#sheet.columns)
      const reason = typeof plant === 'string' ? plant : this.#refused.get(row.number)?.reason
      if (reason !== undefined) yield { row, reason }
    }
  }

  /** Finds the stored plants that rows to add probably correct. */
  async #similar(
    client: PlantstoreClient,
    numbers: readonly number[],
    added: readonly Numbered[],
    signal: AbortSignal,
  ): Promise<readonly Similar[]> {
    const { doubtful } = this.#findings
    const wanted = added.filter(({ row }) => !doubtful.has(row.number))
    if (wanted.length === 0 || wanted.length > MOST_COMPARED) return []
    const candidates = new Map(
      wanted.map(({ row: { number, cells }, plant }) => [number, { row: number, plant, cells }]),
    )
    const rows = numbers.filter((row) => !doubtful.has(row)).map((row) => ({ row, id: this.#stored.get(row) }))
    const recalled = recall(this.#file, this.#sheet.columns, rows, candidates)
    const known = await plantsRecalled(client, recalled, signal)
    const taken = new Set([...this.#stored.values(), ...known.map(({ stored }) => stored.id)])
    for (const { row } of known) candidates.delete(row)
    const others: readonly Candidate[] = [...candidates.values()]
    return [...known, ...(others.length === 0 ? [] : await plantsLike(client, others, taken, signal))]
  }

  get #changes(): readonly Similar[] {
    return this.#findings.similar.filter(({ row }) => this.#decisions.changing.has(row))
  }

  get #leftOut(): number {
    const { leavesOut, leaving } = this.#decisions
    return leaving.size + (leavesOut ? [...this.#stored.keys()].filter((row) => !leaving.has(row)).length : 0)
  }

  #isLeftOut(row: number): boolean {
    const { leavesOut, leaving } = this.#decisions
    return (leavesOut && this.#stored.has(row)) || leaving.has(row)
  }

  #rows(): AsyncIterable<CsvRow> {
    const rows = rowsOf(this.#sheet)
    return this.#plan.fillsTags ? withTagsAbove(rows, this.#plan.mapping) : rows
  }

  async *#plants(signal: AbortSignal, refuse: (row: CsvRow, reason: string) => void): AsyncGenerator<Numbered, void> {
    for await (const row of this.#rows()) {
      signal.throwIfAborted()
      const plant = plantIn(row, this.#plan.mapping, this.#sheet.columns)
      if (typeof plant === 'string') refuse(row, plant)
      else yield { row, plant }
    }
  }

  /** Yields the plants to import, without the first ones. Changes of stored plants come first. */
  async *#rest(signal: AbortSignal, skipped: number): AsyncGenerator<Numbered, void> {
    const changing = new Map(this.#changes.map(({ row, stored }) => [row, stored]))
    let number = 0
    for (const isOfChanges of changing.size > 0 ? [true, false] : [false]) {
      for await (const each of this.#plants(signal, () => {})) {
        const stored = changing.get(each.row.number)
        if ((stored !== undefined) !== isOfChanges || this.#isLeftOut(each.row.number)) continue
        if (number >= skipped) yield { ...each, stored }
        number += 1
      }
    }
  }

  /** Yields the plants of the sheet with their ids, without rows that are no plants. */
  async *#numbered(
    client: PlantstoreClient,
  ): AsyncGenerator<Numbered & { readonly id: bigint; readonly isNew: boolean }, void> {
    const changing = new Map(this.#changes.map(({ row, stored }) => [row, stored.id]))
    let number = 0
    for await (const { row, plant } of this.#plants(new AbortController().signal, () => {})) {
      const known = changing.get(row.number) ?? (this.#isLeftOut(row.number) ? this.#stored.get(row.number) : undefined)
      if (known === undefined && this.#isLeftOut(row.number)) continue
      yield { row, plant, id: known ?? (await this.#idOf(client, plant, number)), isNew: known === undefined }
      if (known === undefined) number += 1
    }
  }

  async #idOf(client: PlantstoreClient, { id }: RowPlant, number: number, signal?: AbortSignal): Promise<bigint> {
    if (id !== undefined) return id
    if (this.#ranges === undefined) throw new PageError(say('import.notChecked'))
    return this.#ranges.idOf(client, number, signal)
  }

  #nameFor(client: PlantstoreClient): ActionOptions {
    const name = this.#names.get(client) ?? newAction(this.#sheet.file.name)
    this.#names.set(client, name)
    return name
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
      const row = part[line - 1]?.row
      if (row === undefined) continue
      const reason = error === 41201 ? say('bulk.changedMeanwhile') : saidOf(error, message)
      this.#refused.set(row.number, { reason, text: rowText(row, IN_LIST) })
    }
  }
}

const NOTHING: Counts = { added: 0, updated: 0, unchanged: 0, refused: 0 }

/** The number of the row that a line of a request had. */
const rowAt = (part: readonly Numbered[], line: number): number => part[line - 1]?.row.number ?? 0

/**
 * Divides plants into parts of at most so many plants, which end with the plant that fills them with text. Plants to add
 * and changes are apart.
 */
async function* partsOf(
  plants: AsyncIterable<Numbered>,
  most: number,
  mostText: number,
): AsyncGenerator<readonly Numbered[], void> {
  let part: Numbered[] = []
  let text = 0
  for await (const each of plants) {
    const [first] = part
    if (first !== undefined && (first.stored === undefined) !== (each.stored === undefined)) {
      yield part
      part = []
      text = 0
    }
    part.push(each)
    text += each.plant.name.length + (each.plant.tag?.length ?? 0)
    if (part.length < most && text < mostText) continue
    yield part
    part = []
    text = 0
  }
  if (part.length > 0) yield part
}
