import type { ActionOptions, ImportReport, PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { plantJson } from '../../../src/domain/plant.ts'
import type { CsvRow, Mapping } from '../../../src/import/csv-rows.ts'
import { DecidedRows, type Decisions } from '../../../src/import/sheet/decided-rows.ts'
import { type Findings as Look, MOST_LISTED, type RefusedRow, SheetLook } from '../../../src/import/sheet/look.ts'
import { RowNotes, type RowWithId } from '../../../src/import/sheet/recall.ts'
import { IN_LIST, rowText } from '../../../src/import/sheet/row-text.ts'
import type { Pieces } from '../../../src/import/sheet/sheet.ts'
import { type PlantRow, partsOf, plannedRows, plantsOf, type RowPlant } from '../../../src/import/sheet/sheet-plants.ts'
import { say } from '../language/language.ts'
import { newAction } from '../offline/new-action.ts'
import { saidOf } from '../page/said.ts'
import { plantIn, reasonOf, withId } from './plant-row.ts'
import { plantsRecalled, recall, remember, type Similar } from './remembered.ts'
import { rowsOf, type Sheet } from './sheet.ts'

/** The result of an import, or of its check. */
export interface Outcome {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  /** Rows left out: their name and tag are stored already, or they are no plants. */
  readonly leftOut: number
  /** The first MOST_LISTED of them. */
  readonly refusedRows: readonly RefusedRow[]
}

export type Mode = 'add' | 'update'

/** How to read the sheet. Each change needs another check. */
export interface Plan {
  readonly mapping: Mapping
  readonly mode: Mode
}

/** What the check finds beside the figures. */
export interface Findings extends Look {
  /** Rows without ids whose name and tag are stored already. */
  readonly duplicates: number
  readonly similar: readonly Similar[]
}

type Counts = Pick<ImportReport, 'added' | 'updated' | 'unchanged' | 'refused'>

/** Plants of one request of a check. The service lists as many duplicates. */
const MOST_CHECKED = 50_000
/** Plants of one request of an import. The service lists 1,000 refused rows, so where it refuses more in all, fewer go. */
const MOST_SENT = 5000
/** UTF-16 units of the texts after which a request is full. */
const MOST_TEXT = 2 ** 20
/** Rows to add up to which some may be plants with a corrected name. */
const MOST_COMPARED = 1000
/** The most plants that the page keeps to print their labels: the texts of each take memory. */
const MOST_KEPT = 50_000

/** A plant of the sheet with its row. */
interface Numbered {
  readonly row: Pick<CsvRow, 'number' | 'cells'>
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
  readonly #actions = new Set<string | undefined>()
  readonly #decided = new DecidedRows<Similar>()
  /** The clients that have sent the next part and got no answer. */
  readonly #unanswered = new Set<PlantstoreClient>()
  /** The rows that the service refused, with its reasons. */
  #refused = new Map<number, Omit<RefusedRow, 'row'>>()
  #counts = NOTHING
  #mostSent = MOST_SENT
  #findings: Findings
  #notes: RowNotes
  /** The plants of the rows that are imported, if they are not too many. */
  #plants: { readonly row: number; readonly plant: RowPlant }[] = []

  constructor(sheet: Sheet, plan: Plan, file: string) {
    this.#sheet = sheet
    this.#plan = plan
    this.#file = file
    this.#notes = new RowNotes(sheet.columns, plan.mapping)
    this.#findings = { ...new SheetLook(plan.mapping, []).findings, duplicates: 0, similar: [] }
  }

  get findings(): Findings {
    return this.#findings
  }

  /** The number of plants to import. */
  get count(): number {
    return this.#plantCount - this.#decided.leftOut
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

  /** The id of the action that has imported all plants; undefined where there is none, or where several have. */
  get action(): string | undefined {
    const [action, ...others] = this.#actions
    return this.#counts.added + this.#counts.updated > 0 && others.length === 0 ? action : undefined
  }

  get outcome(): Outcome {
    const { refused, headings, refusedRows } = this.#findings
    const byService = Array.from(this.#refused, ([row, why]) => ({ row, ...why })).slice(0, MOST_LISTED)
    return {
      ...this.#counts,
      refused: this.#counts.refused + refused,
      leftOut: this.#decided.leftOut + headings,
      refusedRows: [...refusedRows, ...byService].toSorted((a, b) => a.row - b.row).slice(0, MOST_LISTED),
    }
  }

  /** The outcome of the check, as the decisions make it. */
  checked(decisions: Decisions): Outcome {
    this.#decided.decide(decisions)
    const { outcome } = this
    const changes = this.#decided.changes.length
    return { ...outcome, added: outcome.added - this.#decided.leftOut - changes, updated: outcome.updated + changes }
  }

  /** Reads the whole sheet, and has the service import it as a dry run. */
  async check(client: PlantstoreClient, signal: AbortSignal): Promise<void> {
    const { mapping, mode } = this.#plan
    const look = new SheetLook(mapping, this.#sheet.columns)
    const rows: number[] = []
    const added: Numbered[] = []
    const similar: Similar[] = []
    // A row may depend on any earlier one with its id, so a sheet with ids goes in one request.
    const most = this.#assignsIds ? MOST_CHECKED : Number.POSITIVE_INFINITY
    for await (const part of partsOf(this.#readable(look), most)) {
      const report = this.#assignsIds
        ? await client.importPlants(withoutIds(part), { ids: 'assignAll', dryRun: true, duplicates: true, signal })
        : await client.importPlants(part.map(sent), { mode, dryRun: true, signal })
      for (const { line, id } of report.duplicateRows ?? []) this.#decided.stored.set(rowAt(part, line), id)
      for (const { line, plant: stored } of report.similarRows ?? []) {
        const each = part[line - 1]
        if (each !== undefined) similar.push({ ...each, stored })
      }
      this.#take(report, part)
      this.#plantCount += part.length
      if (!this.#assignsIds) continue
      for (const each of part) {
        rows.push(each.row.number)
        if (added.length <= 2 * MOST_COMPARED && !this.#decided.stored.has(each.row.number)) added.push(each)
      }
    }
    this.#findings = { ...look.findings, duplicates: this.#decided.stored.size, similar: [] }
    const found = await this.#similar(client, { rows, added, similar }, signal)
    this.#decided.similar = found.toSorted((a, b) => a.row.number - b.row.number)
    this.#findings = { ...this.#findings, similar: this.#decided.similar }
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
    if (this.#names.size === 0) {
      this.#decided.decide(decisions)
      if (!this.knowsRefused) this.#mostSent = MOST_LISTED
      this.#counts = NOTHING
      this.#refused = new Map()
    }
    const { changes } = this.#decided
    if (this.done < changes.length) await this.#send(client, changes, signal)
    onProgress(this.done)
    const rest = this.#rest(signal, this.done - changes.length)
    for await (const part of partsOf(rest, this.#mostSent, MOST_TEXT)) {
      await this.#send(client, part, signal)
      onProgress(this.done)
    }
    if (this.#assignsIds && this.#file !== '') {
      remember(this.#file, this.#notes, (row) => this.#idOf(row))
    }
    return this.outcome
  }

  /** The plants that the import has added or changed, where the service assigned their ids and they are not too many. */
  get imported(): readonly StoredPlant[] {
    if (this.count > MOST_KEPT) return []
    const plants = [...this.#decided.changes.map(({ row, plant }) => ({ row: row.number, plant })), ...this.#plants]
    return plants.flatMap(({ row, plant }) => {
      const id = this.#idOf(row)
      return id === undefined ? [] : [withId(plant, id)]
    })
  }

  /** Yields the rows of the sheet with their ids: those that the service assigned, and those of plants stored before. */
  async *rowsWithIds(): AsyncGenerator<RowWithId, void> {
    for await (const plants of this.#readable()) {
      for (const { row } of plants) {
        const id = this.#idOf(row.number)
        if (id !== undefined) yield { row, id }
      }
    }
  }

  /** Yields the refused rows of the sheet, with the reasons. */
  async *refusedRows(): AsyncGenerator<{ readonly row: CsvRow; readonly reason: string }, void> {
    for await (const rows of plannedRows(rowsOf(this.#sheet), this.#plan.mapping)) {
      for (const row of rows) {
        const plant = plantIn(row, this.#plan.mapping, this.#sheet.columns)
        const reason = typeof plant === 'string' ? plant : this.#refused.get(row.number)?.reason
        if (reason !== undefined) yield { row, reason }
      }
    }
  }

  get #assignsIds(): boolean {
    return this.#plan.mapping.id === undefined
  }

  /** Sends plants to add, or rows that change stored ones. */
  async #send(client: PlantstoreClient, whole: readonly Numbered[], signal: AbortSignal): Promise<void> {
    const part = this.#assignsIds && whole[0]?.stored === undefined ? await this.#unsent(client, whole) : whole
    if (part.length === 0) return
    const name = this.#names.get(client) ?? newAction(this.#sheet.file.name)
    this.#names.set(client, name)
    this.#unanswered.add(client)
    const [{ stored } = {}] = part
    const report =
      this.#assignsIds && stored === undefined
        ? await client.importPlants(withoutIds(part), {
            ...name,
            ids: 'assignAll',
            key: `${name.action}-${this.done}-${part.length}`,
            signal,
          })
        : await client.importPlants(part.map(sent), {
            ...name,
            mode: stored === undefined ? this.#plan.mode : 'update',
            signal,
          })
    this.#unanswered.clear()
    this.#actions.add(report.action)
    this.#take(report, part)
    for (const { line, id, rows } of report.assignedRows ?? []) {
      for (let i = 0; i < rows; i++) this.#decided.assigned.set(rowAt(part, line + i), id + BigInt(i))
    }
  }

  /**
   * The rows of a part without those that it has stored under another token, which got no answer: a key is its token's
   * own. What was stored is the beginning of the part.
   */
  async #unsent(client: PlantstoreClient, part: readonly Numbered[]): Promise<readonly Numbered[]> {
    const known = new Set(this.#decided.assigned.values())
    const stored = new Map<string, bigint[]>()
    const isOwn = this.#unanswered.size === 1 && this.#unanswered.has(client)
    for (const other of isOwn ? [] : this.#unanswered) {
      const { action } = this.#names.get(other) ?? {}
      for await (const { type, plant } of client.listChanges({ action })) {
        if (type !== 'plant.created' || plant === undefined || known.has(plant.id)) continue
        const key = plantJson({ tag: undefined, ...plant })
        stored.set(key, [...(stored.get(key) ?? []), plant.id])
      }
      this.#actions.add(action)
    }
    return part.filter(({ row, plant }) => {
      const id = stored.get(plantJson(plant))?.shift()
      if (id === undefined) return true
      this.#decided.assigned.set(row.number, id)
      this.#counts = { ...this.#counts, added: this.#counts.added + 1 }
      return false
    })
  }

  /** The stored plants that rows to add probably correct: as this browser remembers, and else as the service finds. */
  async #similar(
    client: PlantstoreClient,
    {
      rows,
      added,
      similar,
    }: Readonly<Record<'added', readonly Numbered[]>> & {
      readonly rows: readonly number[]
      readonly similar: readonly Similar[]
    },
    signal: AbortSignal,
  ): Promise<readonly Similar[]> {
    const { doubtful } = this.#findings
    const wanted = added.filter(({ row }) => !doubtful.has(row.number))
    if (wanted.length === 0 || wanted.length > MOST_COMPARED) return []
    const candidates = new Map(wanted.map((each) => [each.row.number, each]))
    const all = rows.filter((row) => !doubtful.has(row)).map((row) => ({ row, id: this.#decided.stored.get(row) }))
    const found = [...(await plantsRecalled(client, recall(this.#file, this.#sheet.columns, all, candidates), signal))]
    const taken = new Set([...this.#decided.stored.values(), ...found.map(({ stored }) => stored.id)])
    for (const { row } of found) candidates.delete(row.number)
    for (const each of similar) {
      if (!candidates.has(each.row.number) || taken.has(each.stored.id)) continue
      taken.add(each.stored.id)
      found.push(each)
    }
    return found
  }

  /** The id of the plant that a row is now, in a sheet without ids. */
  #idOf(row: number): bigint | undefined {
    return this.#refused.has(row) ? undefined : this.#decided.idOf(row)
  }

  #readable(look?: SheetLook): Pieces<PlantRow> {
    return plantsOf(rowsOf(this.#sheet), { ...this.#plan, columns: this.#sheet.columns }, look, reasonOf)
  }

  /** Yields the plants to import but for changes of stored ones, without the first ones. */
  async *#rest(signal: AbortSignal, skipped: number): Pieces<Numbered> {
    this.#notes = new RowNotes(this.#sheet.columns, this.#plan.mapping)
    this.#plants = []
    let left = skipped
    for await (const plants of this.#readable()) {
      signal.throwIfAborted()
      const added = [...this.#added(plants)]
      yield left === 0 ? added : added.slice(left)
      left = Math.max(0, left - added.length)
    }
  }

  *#added(plants: Iterable<PlantRow>): Generator<PlantRow, void> {
    for (const each of plants) {
      if (this.#assignsIds) this.#notes.take(each.row)
      const { number: row } = each.row
      if (!this.#decided.isAdded(row)) continue
      if (this.#assignsIds && this.#plants.length < MOST_KEPT) this.#plants.push({ row, plant: each.plant })
      yield each
    }
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
      const reason = error === 41201 ? say('fault.changed') : saidOf(error, message)
      this.#refused.set(row.number, { reason, text: rowText(row, IN_LIST) })
    }
  }
}

const NOTHING: Counts = { added: 0, updated: 0, unchanged: 0, refused: 0 }

/** The number of the row that a line of a request had. */
const rowAt = (part: readonly Numbered[], line: number): number => part[line - 1]?.row.number ?? 0

/** The plants as NDJSON, for ids that the service assigns. */
const withoutIds = (part: readonly Numbered[]): string => part.map(({ plant }) => `${plantJson(plant)}\n`).join('')

const sent = ({ plant, stored }: Numbered) =>
  stored === undefined ? withId(plant, plant.id ?? 0n) : { ...withId(plant, stored.id), before: stored }
