/** What a person decides after the check of a sheet without ids. */
export interface Decisions {
  /** Whether to leave out the rows whose name and tag are stored already. */
  readonly leavesOut: boolean
  /** The rows that look like totals or headings and are left out. */
  readonly leaving: ReadonlySet<number>
  /** The rows that change the stored plant that they look like. The others add a plant. */
  readonly changing: ReadonlySet<number>
}

/** Which plants the rows of a sheet without ids are, by their numbers, as the check finds and the person decides. */
export class DecidedRows<
  Similar extends { readonly row: { readonly number: number }; readonly stored: { readonly id: bigint } },
> {
  /** The rows whose name and tag a stored plant has. */
  readonly stored = new Map<number, bigint>()
  /** The rows to which the service has assigned an id. */
  readonly assigned = new Map<number, bigint>()
  /** The rows that look like stored plants. */
  similar: readonly Similar[] = []
  #decisions: Decisions = { leavesOut: false, leaving: new Set(), changing: new Set() }
  #changing: ReadonlyMap<number, bigint> = new Map()

  decide(decisions: Decisions): void {
    this.#decisions = decisions
    this.#changing = new Map(this.changes.map(({ row, stored }) => [row.number, stored.id]))
  }

  /** The rows that change stored plants. */
  get changes(): readonly Similar[] {
    return this.similar.filter(({ row }) => this.#decisions.changing.has(row.number))
  }

  /** The number of rows that are left out. */
  get leftOut(): number {
    const { leavesOut, leaving } = this.#decisions
    return leaving.size + (leavesOut ? [...this.stored.keys()].filter((row) => !leaving.has(row)).length : 0)
  }

  /** Whether a row adds a plant, or has one of a sheet with ids. */
  isAdded(row: number): boolean {
    return !this.#changing.has(row) && !this.#isLeftOut(row)
  }

  /** The id of the plant that a row is now. */
  idOf(row: number): bigint | undefined {
    return (
      this.#changing.get(row) ?? this.assigned.get(row) ?? (this.#isLeftOut(row) ? this.stored.get(row) : undefined)
    )
  }

  #isLeftOut(row: number): boolean {
    const { leavesOut, leaving } = this.#decisions
    return leaving.has(row) || (leavesOut && this.stored.has(row))
  }
}
