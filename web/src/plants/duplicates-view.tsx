import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { fold } from '../../../src/domain/plant-query.ts'
import { say } from '../language/language.ts'
import { named } from '../named.ts'
import { linkTo } from '../route.ts'
import { isAbort, said } from '../said.ts'
import { Fault } from '../sentence.tsx'
import type { ViewProps } from '../views.ts'
import { apply, type Change, type Conflict } from './bulk/apply.ts'
import { Conflicts, keepDone, plantsIn } from './bulk/done.tsx'
import { PlantList } from './plant-list.ts'

/** Plants with one name, apart from case and accents. */
interface Group {
  readonly name: string
  readonly plants: readonly StoredPlant[]
}

/** The most groups that the view lists at once. */
const MOST_GROUPS = 100
/** The most plants of a group that the view shows. */
const MOST_PLANTS = 50

/** Shows plants with the same name side by side, for a person who keeps one of them. */
export function DuplicatesView({ session: { client, may } }: ViewProps): JSX.Element {
  const groups = useSignal<readonly Group[]>([])
  const read = useSignal<number | undefined>(0)
  const isFull = useSignal(false)
  const fault = useSignal('')
  const tries = useSignal(0)
  const list = useMemo(() => new PlantList(client), [client])
  useEffect(() => {
    const ending = new AbortController()
    const search = async () => {
      groups.value = []
      read.value = 0
      isFull.value = false
      fault.value = ''
      try {
        const onRead = (count: number) => {
          read.value = count
        }
        for await (const group of groupsOf(client, onRead, ending.signal)) {
          groups.value = [...groups.value, group]
          isFull.value = groups.value.length === MOST_GROUPS
          if (isFull.value) break
        }
      } catch (error) {
        if (isAbort(error) || ending.signal.aborted) return
        fault.value = say('labels.notAll', { why: said(error) })
      }
      read.value = undefined
    }
    void search()
    return () => ending.abort()
  }, [client, tries.value])
  const again = () => {
    tries.value += 1
  }
  return (
    <>
      <h1>{say('duplicates.title')}</h1>
      <p class="note">
        {say('duplicates.note')} <a href={linkTo('plants')}>{say('duplicates.back')}</a>
      </p>
      <p role="status">
        {read.value !== undefined && say('duplicates.reading', { plants: plantsIn(read.value) })}
        {read.value === undefined && groups.value.length === 0 && fault.value === '' && say('duplicates.none')}
        {isFull.value && say('duplicates.first', { most: MOST_GROUPS })}
      </p>
      <Fault text={fault.value} />
      {groups.value.map((group) => (
        <Duplicates
          key={String(group.plants[0]?.id)}
          client={client}
          list={list}
          group={group}
          mayWrite={may('plants:write')}
        />
      ))}
      {read.value === undefined && (
        <button type="button" onClick={again}>
          {say('duplicates.again')}
        </button>
      )}
    </>
  )
}

/** Yields the groups in the order of names, which brings equal names together. Takes the memory of one group. */
async function* groupsOf(
  client: PlantstoreClient,
  onRead: (count: number) => void,
  signal: AbortSignal,
): AsyncGenerator<Group, void, undefined> {
  let count = 0
  let key: string | undefined
  let plants: StoredPlant[] = []
  const group = (): Group => ({ name: plants[0]?.name ?? '', plants })
  for await (const plant of client.exportPlants({ sort: 'name' }, { signal })) {
    count += 1
    if (count % 1000 === 0) onRead(count)
    const folded = fold(plant.name)
    if (folded === key) {
      plants.push(plant)
      continue
    }
    if (plants.length > 1) yield group()
    key = folded
    plants = [plant]
  }
  if (plants.length > 1) yield group()
}

interface DuplicatesProps {
  readonly client: PlantstoreClient
  readonly list: PlantList
  readonly group: Group
  readonly mayWrite: boolean
}

function Duplicates({ client, list, group, mayWrite }: DuplicatesProps): JSX.Element {
  const kept = useSignal(group.plants[0])
  const isWorking = useSignal(false)
  const isDone = useSignal(false)
  const fault = useSignal('')
  const conflicts = useSignal<readonly Conflict[]>([])
  const name = useRef(`keep-${group.plants[0]?.id}`)
  const others = group.plants.filter(({ id }) => id !== kept.value?.id)
  const run = async () => {
    if (isWorking.value) return
    isWorking.value = true
    fault.value = ''
    const changes = others.map((before): Change => ({ before, after: undefined }))
    const outcome = await apply(client, changes, () => {}, new AbortController().signal)
    if (outcome.done.length > 0) {
      const plants = plantsIn(outcome.done.length)
      const text = say('duplicates.done', { id: String(kept.value?.id), name: named(group.name), plants })
      keepDone(client, list, text, outcome.done)
    }
    conflicts.value = outcome.conflicts
    fault.value =
      outcome.left.length > 0 ? say('bulk.left', { plants: plantsIn(outcome.left.length), why: outcome.fault }) : ''
    isDone.value = outcome.left.length === 0
    isWorking.value = false
  }
  const shown = group.plants.slice(0, MOST_PLANTS)
  return (
    <fieldset class="duplicates" disabled={isDone.value}>
      <legend>
        <bdi>{group.name}</bdi>
      </legend>
      {shown.map((plant) => (
        <label key={String(plant.id)} class="check">
          <input
            type="radio"
            name={name.current}
            checked={plant.id === kept.value?.id}
            onChange={() => {
              kept.value = plant
            }}
          />
          <span class="count">{String(plant.id)}</span> <bdi>{plant.name}</bdi> <bdi class="note">{plant.tag}</bdi>
        </label>
      ))}
      {group.plants.length > shown.length && (
        <p class="note">{say('duplicates.more', { plants: plantsIn(group.plants.length - shown.length) })}</p>
      )}
      {mayWrite && !isDone.value && (
        <button type="button" aria-disabled={isWorking.value} onClick={() => void run()}>
          {isWorking.value
            ? say('duplicates.deleting')
            : say('duplicates.keep', { id: String(kept.value?.id), plants: plantsIn(others.length) })}
        </button>
      )}
      <p role="status">{isDone.value && say('duplicates.kept', { id: String(kept.value?.id) })}</p>
      <Fault text={fault.value} />
      <Conflicts conflicts={conflicts.value} />
    </fieldset>
  )
}
