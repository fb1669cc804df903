import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { idIn } from '../../codes/typed-code.ts'
import { say } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import { see, seenOf } from '../../offline/seen.ts'
import { SeenLine } from '../../offline/seen-line.tsx'
import { waitingFor } from '../../offline/waiting.ts'
import { useRepeat, whenAway } from '../../page/connection.ts'
import { useRequest } from '../../page/request.ts'
import { linkTo, queryOf, route } from '../../page/route.ts'
import { isRefusal } from '../../page/said.ts'
import { Fault } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import type { PlantChanges } from '../change/changes.ts'
import { EnterPlant } from '../change/enter-plant.tsx'
import { focusRow } from '../list/grid-keys.ts'
import type { PlantList } from '../list/plant-list.ts'
import { neighboursOf, walk } from '../list/walk.ts'
import { CopiesDialog } from '../many/copies-dialog.tsx'
import { History } from './history.tsx'
import { PlantCard } from './plant-card.tsx'
import { usePlants } from './use-plants.ts'

/** The view that the code of a label opens. */
export function PlantView({ session }: ViewProps): JSX.Element {
  const id = idIn(route.value.query.get('id') ?? '')
  if (id === null) return <p role="alert">{say('plant.badId')}</p>
  const { previous, next } = neighboursOf(id)
  return (
    <>
      <p class="way">
        <a href={linkTo('plants', walk.value.query)}>
          <span aria-hidden="true">‹</span> {say('plant.back')}
        </a>
        {previous !== undefined && <a href={linkTo('plant', queryOf(previous))}>{say('plant.previous')}</a>}
        {next !== undefined && <a href={linkTo('plant', queryOf(next))}>{say('plant.next')}</a>}
      </p>
      <OnePlant key={String(id)} session={session} id={id} />
    </>
  )
}

interface OnePlantProps extends ViewProps {
  readonly id: bigint
  /** Whether the person scans one label after the other, and so types the name of a new plant at once. */
  readonly isScanned?: boolean
}

/** Shows and edits the plant, or enters a plant that does not exist yet. */
export function OnePlant({ session, id, isScanned = false }: OnePlantProps): JSX.Element {
  const { client, may } = session
  const { list, changes } = usePlants(session)
  const { found, fault, since, again } = useOnePlant(client, id, list)
  const plants = list.plants.value
  const Heading = isScanned ? 'h2' : 'h1'
  // Around the form, so that the focus of one that is gone does not go to the way back.
  return (
    <div>
      {(found !== 'there' || plants.length === 0) && <Heading>{say('plant.title', { id })}</Heading>}
      {found === 'reading' && <p role="status">{say('plant.reading')}</p>}
      {found === 'failed' && <Fault text={fault} onRetry={again} />}
      <SeenLine since={since} />
      {found === 'unseen' && <p>{say('seen.unseen')}</p>}
      {(found === 'absent' || found === 'unseen') && may('plants:write') && (
        <EnterPlant
          session={session}
          id={id}
          isFocused={isScanned}
          intro={say(found === 'unseen' ? 'seen.enter' : 'plants.enter')}
          onEntered={again}
        />
      )}
      {found === 'absent' && !may('plants:write') && <p>{say('stocktake.isNew', { id })}</p>}
      {found === 'there' && <Shown {...{ session, list, changes, Heading, isScanned }} mayPrint={may('more')} />}
      {(found === 'there' || found === 'absent') && may('more') && (
        <History session={session} id={id} state={plants[0]} onRestored={again} />
      )}
    </div>
  )
}

/** `unseen`: the service does not answer, and this device has never seen the plant. */
type Found = 'reading' | 'there' | 'absent' | 'failed' | 'unseen'

/** Reads the plant into the list, and where no answer comes, what this device knows of it. */
function useOnePlant(client: PlantstoreClient, id: bigint, list: PlantList) {
  const found = useSignal<Found>('reading')
  /** Where the plant is as this device has seen it before: when, in milliseconds since 1970. */
  const since = useSignal<number | undefined>(undefined)
  const { fault, run } = useRequest()
  const read = (isAgain: boolean) =>
    run(async (signal) => {
      // What a person edits or enters meanwhile stays in its place.
      if (!list.has(id) && found.value !== 'unseen') found.value = 'reading'
      let isAnswered = false
      const recall = async () => {
        const waits = waitingFor(id)?.wanted
        const seen = await seenOf(new Set([id]))
        const [plant] = waits ? [plantOf(id, waits)] : (seen?.plants ?? [])
        if (isAnswered || signal.aborted) return
        if (plant !== undefined) list.putFirst(plant)
        since.value = seen?.since
        found.value = plant === undefined ? 'unseen' : 'there'
      }
      const end = whenAway(() => void recall())
      try {
        await list.open(id, signal)
        since.value = undefined
        found.value = 'there'
        // The form or button that had the focus is gone.
        if (isAgain) focusRow(String(id))
      } catch (error) {
        if (signal.aborted) return
        const isAbsent = isRefusal(error, 40402)
        if (isAbsent && waitingFor(id)?.wanted) return await recall()
        if (isAbsent) void see([], [id])
        const isShown = since.value !== undefined || found.value === 'unseen'
        if (isAbsent || !isShown) found.value = isAbsent ? 'absent' : 'failed'
        throw error
      } finally {
        isAnswered = true
        end()
      }
    })
  const again = () => void read(true)
  useEffect(() => void read(false), [client, list])
  // What this device has seen before is read again once the service answers.
  useRepeat(since.value === undefined && found.value !== 'unseen' ? undefined : again)
  return { found: found.value, fault: fault.value, since: since.value, again }
}

interface ShownProps extends ViewProps {
  readonly list: PlantList
  readonly changes: PlantChanges | undefined
  readonly Heading: 'h1' | 'h2'
  readonly isScanned: boolean
  readonly mayPrint: boolean
}

/** The plant, until somebody deletes it. */
function Shown({ session, list, changes, Heading, isScanned, mayPrint }: ShownProps): JSX.Element {
  const copied = useSignal<StoredPlant | undefined>(undefined)
  const plants = list.plants.value
  return (
    <>
      {plants.map((plant) => (
        <PlantCard
          key={String(plant.id)}
          plant={plant}
          changes={changes}
          Heading={Heading}
          mayPrint={mayPrint}
          onCopy={() => (copied.value = plant)}
        />
      ))}
      {copied.value !== undefined && (
        <CopiesDialog session={session} list={list} plant={copied.value} onClose={() => (copied.value = undefined)} />
      )}
      {plants.length === 0 && <p role="status">{say('plant.wasDeleted')}</p>}
      {plants.length > 0 && !isScanned && (
        <p>
          <a href={linkTo('scan')}>{say('scan.next')}</a>
        </p>
      )}
    </>
  )
}
