import type { ChangePage } from '../../domain/changes.ts'
import type { NewPlant } from '../../domain/plant.ts'

/** A page as arrays, for a message to another thread: half of the processor time that objects take. */
export type ChangeColumns = ReturnType<typeof columnsOfChanges>

export const columnsOfChanges = ({ entries, ...page }: ChangePage) => ({
  ...page,
  positions: entries.map(({ position }) => position),
  types: entries.map(({ type }) => type),
  times: entries.map(({ time }) => time),
  tokens: entries.map(({ token }) => token),
  plants: columnsOfSome(entries.map(({ plant }) => plant)),
  befores: columnsOfSome(entries.map(({ before }) => before)),
})

export function changesOf({ positions, types, times, tokens, plants, befores, ...page }: ChangeColumns): ChangePage {
  const entries = positions.map((position, i) => ({
    position,
    type: types[i] ?? 'plant.updated',
    time: times[i] ?? 0,
    plant: plantAt(plants, i),
    before: plantAt(befores, i),
    token: tokens[i] ?? '',
  }))
  return { entries, ...page }
}

const columnsOfSome = (plants: readonly (NewPlant | undefined)[]) => ({
  ids: plants.map((plant) => plant?.id),
  names: plants.map((plant) => plant?.name),
  tags: plants.map((plant) => plant?.tag),
})

function plantAt({ ids, names, tags }: ReturnType<typeof columnsOfSome>, i: number): NewPlant | undefined {
  const [id, name] = [ids[i], names[i]]
  return id === undefined || name === undefined ? undefined : { id, name, tag: tags[i] }
}
