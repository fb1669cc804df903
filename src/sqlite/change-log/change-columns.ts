import { CHANGE_TYPES, type ChangeEntry, type ChangePage } from '../../domain/changes.ts'
import type { NewPlant, Plant } from '../../domain/plant.ts'

/** A page as arrays, for a message to another thread: half of the processor time that objects take. */
export interface ChangeColumns {
  readonly positions: readonly string[]
  /** Places in CHANGE_TYPES. */
  readonly types: Uint8Array
  readonly times: Float64Array
  readonly tokens: readonly string[]
  readonly ids: BigInt64Array
  readonly after: Texts
  /** Undefined for a page of creates. */
  readonly before: Texts | undefined
  readonly next: string
  readonly isEnd: boolean
}

interface Texts {
  readonly names: readonly (string | undefined)[]
  readonly tags: readonly (string | undefined)[]
}

export function columnsOfChanges({ entries, next, isEnd }: ChangePage): ChangeColumns {
  return {
    positions: entries.map(({ position }) => position),
    types: Uint8Array.from(entries, ({ type }) => CHANGE_TYPES.indexOf(type)),
    times: Float64Array.from(entries, ({ time }) => time),
    tokens: entries.map(({ token }) => token),
    ids: BigInt64Array.from(entries, ({ plant, before }) => (plant ?? before)?.id ?? 0n),
    after: textsOf(entries, ({ plant }) => plant),
    before: entries.some(({ before }) => before !== undefined) ? textsOf(entries, ({ before }) => before) : undefined,
    next,
    isEnd,
  }
}

export function changesOf(columns: ChangeColumns): ChangePage {
  const { positions, types, times, tokens, ids, after, before, next, isEnd } = columns
  const plantOf = (texts: Texts | undefined, i: number): NewPlant | undefined => {
    const name = texts?.names[i]
    return name === undefined ? undefined : { id: ids[i] ?? 0n, name, tag: texts?.tags[i] }
  }
  const entries = positions.map((position, i): ChangeEntry => {
    const type = CHANGE_TYPES[types[i] ?? 0] ?? 'plant.updated'
    const [time, token] = [times[i] ?? 0, tokens[i] ?? '']
    return { position, type, time, plant: plantOf(after, i), before: plantOf(before, i), token }
  })
  return { entries, next, isEnd }
}

const textsOf = (entries: readonly ChangeEntry[], plantOf: (entry: ChangeEntry) => Plant | undefined): Texts => ({
  names: entries.map((entry) => plantOf(entry)?.name),
  tags: entries.map((entry) => plantOf(entry)?.tag),
})
