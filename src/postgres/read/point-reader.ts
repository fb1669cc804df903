import { GroupCommit } from '../../group-commit.ts'
import type { NewPlant } from '../../plant.ts'
import { bigintArray } from '../binary-arrays.ts'
import { type GroupOptions, groupLimits } from '../group-limits.ts'
import type { Budget } from '../pool/budget.ts'
import type { Run } from '../pool/client.ts'
import { RequestDeadlines, type Timed } from '../request-deadlines.ts'
import { byId, plantOf } from '../rows.ts'

/** Gives the plants of these ids that exist, in any order. */
export type Read = (wanted: readonly { readonly id: bigint }[], budget: Budget) => Promise<readonly NewPlant[]>

type Row = Timed & { readonly id: bigint }
type Found = { readonly plant: NewPlant | undefined }

/** Reads plants by id: look-ups that come together share a statement. Answers each one by its deadline. */
export class PointReader {
  readonly #deadlines: RequestDeadlines
  readonly #gets: GroupCommit<Row, Found>

  constructor(read: Read, deadlines: RequestDeadlines, options: GroupOptions) {
    this.#deadlines = deadlines
    const find = async (rows: readonly Row[], budget: Budget): Promise<Found[]> => {
      const found = byId(await read(rows, budget))
      return rows.map(({ id }) => ({ plant: found.get(id) }))
    }
    this.#gets = new GroupCommit<Row, Found>((rows) => RequestDeadlines.inTime(rows, find), {
      ...groupLimits(options),
      weigh: () => 1,
    })
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    const { deadline } = this.#deadlines
    return (await this.#deadlines.limit(deadline, this.#gets.submit({ id, deadline }))).plant
  }

  /** Refuses new look-ups, and resolves after the waiting ones. */
  close(): Promise<void> {
    return this.#gets.close()
  }
}

const SELECTS = {
  plants: 'SELECT id, name, tag FROM plants WHERE id = ANY ($1::bigint[])',
  tried: 'SELECT id, name, tag FROM tried WHERE id = ANY ($1::bigint[])',
}

/** The plants of these ids that exist, in any order. */
export async function selectPlants(
  run: Run,
  wanted: readonly { readonly id: bigint }[],
  from: keyof typeof SELECTS = 'plants',
): Promise<NewPlant[]> {
  if (wanted.length === 0) return []
  const values = [bigintArray(wanted.map(({ id }) => id))]
  return (await run({ name: `select-${from}`, text: SELECTS[from], values })).rows.map(plantOf)
}
