import { type CsvRow, isNothing, type Mapping } from '../csv-rows.ts'
import { isFlag, isNoValue } from './column-names.ts'
import { DoubtfulRows } from './doubtful-rows.ts'
import { IN_LIST, rowText } from './row-text.ts'
import { areNames, idIn } from './sheet-row.ts'

/** A row without a plant. */
export interface RefusedRow {
  /** Counted as the spreadsheet counts rows. */
  readonly row: number
  readonly reason: string
  readonly text: string
  /** Whether it is no plant but a heading, which is left out. */
  readonly isHeading?: boolean
}

/** What an import should say of a sheet before it stores anything. */
export interface Findings {
  /** Rows but for headings. */
  readonly rows: number
  readonly headings: number
  /** Rows without a plant but for headings. */
  readonly refused: number
  /** The first MOST_LISTED rows without a plant, headings too. */
  readonly refusedRows: readonly RefusedRow[]
  /** Rows that have a plant. */
  readonly plants: number
  /** Rows that look like totals or headings, with their texts, by their numbers. */
  readonly doubtful: ReadonlyMap<number, string>
  /** Rows without a tag where the tag of a row above may hold for them. */
  readonly tagsAbove: number
  /** Rows whose tag is a text such as NA, by which programs write an empty cell. */
  readonly noValues: number
  readonly noValueTexts: readonly string[]
  /** The different names, where they are few for the rows; else undefined. */
  readonly names: number | undefined
  /** Rows without a number in the column of the ids, or with that of another plant above. */
  readonly withoutId: number
}

/** Rows from which on few names say that the column of the names is another one, and rows for each name. */
export const MANY = 20
export const FOR_ONE_NAME = 4
/** Different names and ids that are counted: more names are never few. */
const MOST_NAMES = 50_000
const MOST_TEXTS = 5
/** The most refused rows that are listed. */
export const MOST_LISTED = 1000

/** Looks at the rows of a sheet, one after the other. */
export class SheetLook {
  readonly #mapping: Mapping
  readonly #columns: readonly string[]
  readonly #doubtful: DoubtfulRows
  readonly #tagsAbove: TagsAbove
  readonly #names = new Set<string>()
  readonly #texts = new Set<string>()
  readonly #plantOf = new Map<bigint, string>()
  readonly #refusedRows: RefusedRow[] = []
  #headings = 0
  #refused = 0
  #plants = 0
  #noValues = 0
  #withoutId = 0

  /** @param columns their names */
  constructor(mapping: Mapping, columns: readonly string[]) {
    this.#mapping = mapping
    this.#columns = columns
    this.#doubtful = new DoubtfulRows(mapping)
    this.#tagsAbove = new TagsAbove(mapping)
  }

  /** Takes a row that has a plant. */
  take(row: CsvRow): void {
    const { name, tag } = this.#mapping
    const names = name.map((at) => row.cells[at]?.trim() ?? '').join(' ')
    const text = tag === undefined ? undefined : row.cells[tag]
    this.#plants += 1
    this.#countId(row, `${names}\n${text}`)
    this.#doubtful.look(row)
    this.#tagsAbove.look(row)
    if (this.#names.size <= MOST_NAMES) this.#names.add(names)
    if (text === undefined || !isNoValue(text)) return
    this.#noValues += 1
    if (this.#texts.size < MOST_TEXTS) this.#texts.add(text.trim())
  }

  /** Takes a row that has none. */
  refuse(row: CsvRow, reason: string): void {
    const heading = isHeading(row, this.#columns, this.#mapping)
    if (heading) this.#headings += 1
    else {
      this.#refused += 1
      this.#countId(row)
    }
    if (this.#refusedRows.length === MOST_LISTED) return
    this.#refusedRows.push({ row: row.number, reason, text: rowText(row, IN_LIST), isHeading: heading })
  }

  /** @param plant its name and tag; undefined for a row without one */
  #countId({ cells }: CsvRow, plant?: string): void {
    const { id: at } = this.#mapping
    if (at === undefined) return
    const id = idIn(cells[at] ?? '')
    if (typeof id !== 'bigint' || (plant !== undefined && (this.#plantOf.get(id) ?? plant) !== plant)) {
      this.#withoutId += 1
    } else if (plant !== undefined && this.#plantOf.size < MOST_NAMES) this.#plantOf.set(id, plant)
  }

  get findings(): Findings {
    const areFew = this.#plants >= MANY && FOR_ONE_NAME * this.#names.size <= this.#plants
    return {
      rows: this.#plants + this.#refused,
      headings: this.#headings,
      refused: this.#refused,
      refusedRows: this.#refusedRows,
      plants: this.#plants,
      doubtful: this.#mapping.id === undefined ? this.#doubtful.found : new Map(),
      tagsAbove: this.#tagsAbove.count,
      noValues: this.#noValues,
      noValueTexts: [...this.#texts],
      names: areFew ? this.#names.size : undefined,
      withoutId: this.#withoutId,
    }
  }
}

/**
 * Whether so many rows lack a number of their own that the sheet has no ids: more than a person mends, and most of
 * those of a column named `id`, or a twentieth. Of 36,546 rows of a herbarium, 4,773 have numbers such as 2-40.
 */
export const lacksIds = (columns: readonly string[], { id }: Mapping, { rows, withoutId }: Findings): boolean =>
  id !== undefined && withoutId > MENDED && (isId(columns[id] ?? '') ? 2 : 20) * withoutId > rows
const MENDED = 20

const isId = (column: string): boolean => /^\s*id\s*$/i.test(column)

/** The column named `id` that a sheet has, where none has numbers, so that ids are assigned. */
export const idWithoutNumbers = (columns: readonly string[], { id }: Mapping): string | undefined =>
  id === undefined ? columns.find(isId) : undefined

/** The columns with a name or a cell that no member of a plant takes. */
export const notKept = (columns: readonly string[], { id, name, tag }: Mapping): readonly string[] =>
  columns.filter((_, at) => at !== id && at !== tag && !name.includes(at))

/** The reason of most listed rows, whatever text or cell it names; undefined where there is none. */
export function usualReason(refusedRows: readonly RefusedRow[]): string | undefined {
  const listed = refusedRows.filter(({ isHeading: heading }) => heading !== true)
  const alike = Map.groupBy(listed, ({ reason }) => reason.replaceAll(/"[^"]*"|\b[A-Z]{1,3}\d+\b/g, ''))
  return [...alike.values()].find((rows) => 2 * rows.length > listed.length)?.[0]?.reason
}

/**
 * Whether a row without a plant is a heading: it has one text besides answers, which tables have in rows to be filled,
 * where a plant needs more, or has names of columns.
 */
function isHeading({ cells, fault }: CsvRow, columns: readonly string[], mapping: Mapping): boolean {
  if (fault !== undefined) return false
  const { id, name, tag } = mapping
  const needed = [id, tag, ...name]
  const filled = cells.flatMap((cell = '', at) =>
    isNothing(cell) || (isFlag(cell) && !needed.includes(at)) ? [] : [at],
  )
  const [first = -1] = filled
  if (filled.length > 1 || first >= columns.length) return areNames(cells, mapping, columns)
  return first === id ? typeof idIn(cells[first] ?? '') !== 'bigint' : first !== tag && !name.includes(first)
}

/** The share of rows without a tag from which on a tag seems to hold for the rows below it. */
const LEAST_WITHOUT = 1 / 3

/**
 * Tells whether each tag of a sheet stands once above the rows that it holds for, as a merged cell does once the sheet is
 * saved as CSV.
 */
class TagsAbove {
  readonly #at: number | undefined
  readonly #tags = new Set<string>()
  #tagged = 0
  #without = 0
  #beginsWithTag = false

  constructor({ tag }: Mapping) {
    this.#at = tag
  }

  look({ cells }: CsvRow): void {
    if (this.#at === undefined) return
    const tag = cells[this.#at]
    if (isNothing(tag)) {
      this.#without += 1
      return
    }
    if (this.#tagged + this.#without === 0) this.#beginsWithTag = true
    this.#tagged += 1
    this.#tags.add(tag ?? '')
  }

  /** The rows that would get the tag of a row above; 0 where tags stand otherwise. */
  get count(): number {
    const isOnce = this.#tagged > 1 && this.#tags.size === this.#tagged
    const rows = this.#tagged + this.#without
    return this.#beginsWithTag && isOnce && this.#without >= LEAST_WITHOUT * rows ? this.#without : 0
  }
}
