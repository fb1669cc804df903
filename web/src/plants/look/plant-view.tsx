import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { StoredPlant } from '../../../../client/src/index.ts'
import { idIn } from '../../codes/typed-code.ts'
import { say } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import { see, seenOf } from '../../offline/seen.ts'
import { SeenLine } from '../../offline/seen-line.tsx'
import { onSent, waitingFor } from '../../offline/waiting.ts'
import { useRepeat, whenAway } from '../../page/connection.ts'
import { linkTo, route } from '../../page/route.ts'
import { isAbort, isRefusal, said } from '../../page/said.ts'
import { Fault } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import { PlantChanges } from '../change/changes.ts'
import { EnterPlant } from '../change/enter-plant.tsx'
import { focusRow } from '../list/grid-keys.ts'
import { follow } from '../list/live.ts'
import { PlantList } from '../list/plant-list.ts'
import { neighboursOf, walk } from '../list/walk.ts'
import { CopiesDialog } from '../many/copies-dialog.tsx'
import { History } from './history.tsx'
import { PlantCard } from './plant-card.tsx'

type Outcome = 'reading' | 'there' | 'absent' | 'failed' | 'unseen'

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
        {previous !== undefined && <a href={linkToPlant(previous)}>{say('plant.previous')}</a>}
        {next !== undefined && <a href={linkToPlant(next)}>{say('plant.next')}</a>}
      </p>
      <OnePlant key={String(id)} session={session} id={id} />
    </>
  )
}

const linkToPlant = (id: bigint): string => linkTo('plant', new URLSearchParams({ id: String(id) }))

interface OnePlantProps extends ViewProps {
  readonly id: bigint
  /** Whether the person scans one label after the other, and so types the name of a new plant at once. */
  readonly isScanned?: boolean
}

/** Shows and edits the plant, or enters a plant that does not exist yet. */
export function OnePlant({ session, id, isScanned = false }: OnePlantProps): JSX.Element {
  const { client, may, own } = session
  const list = useMemo(() => new PlantList(client), [client, id])
  const changes = useMemo(() => (may('plants:write') ? new PlantChanges(session, list) : undefined), [session, list])
  const outcome = useSignal<Outcome>('reading')
  const fault = useSignal('')
  /** Where the plant is as this device has seen it before: when, in milliseconds since 1970. */
  const since = useSignal<number | undefined>(undefined)
  const tries = useSignal(0)
  const copied = useSignal<StoredPlant | undefined>(undefined)
  useEffect(() => {
    const ending = new AbortController()
    // What a person edits or enters meanwhile stays in its place.
    if (!list.has(id) && outcome.value !== 'unseen') outcome.value = 'reading'
    let isAnswered = false
    const recall = async () => {
      const waits = waitingFor(id)?.wanted
      const seen = await seenOf(new Set([id]))
      const [plant] = waits ? [plantOf(id, waits)] : (seen?.plants ?? [])
      if (isAnswered || ending.signal.aborted) return
      if (plant !== undefined) list.putFirst(plant)
      since.value = seen?.since
      outcome.value = plant === undefined ? 'unseen' : 'there'
    }
    const end = whenAway(() => void recall())
    const read = async () => {
      try {
        const { plant } = await client.getPlant(id, { signal: ending.signal })
        void see([plant])
        since.value = undefined
        list.putFirst(plant)
        outcome.value = 'there'
        // The form or button that had the focus is gone.
        if (tries.value > 0) focusRow(String(id))
      } catch (error) {
        if (isAbort(error) || ending.signal.aborted) return
        const isAbsent = isRefusal(error, 40402)
        if (isAbsent && waitingFor(id)?.wanted) return recall()
        if (isAbsent) void see([], [id])
        const isShown = since.value !== undefined || outcome.value === 'unseen'
        if (isAbsent || !isShown) outcome.value = isAbsent ? 'absent' : 'failed'
        fault.value = said(error)
      } finally {
        isAnswered = true
        end()
      }
    }
    void read()
    return () => {
      end()
      ending.abort()
    }
  }, [client, list, tries.value])
  // What this device has seen before is read again once the service answers.
  useRepeat(
    since.value === undefined && outcome.value !== 'unseen'
      ? undefined
      : () => {
          tries.value += 1
        },
  )
  useEffect(() => follow(client, list, own.id), [client, list])
  useEffect(() => onSent((sent, content) => list.take(sent, content)), [list])
  const plants = list.chunks.value.flatMap((chunk) => chunk.plants)
  const Heading = isScanned ? 'h2' : 'h1'
  const isShown = outcome.value === 'there' && plants.length > 0
  // Around the form, so that the focus of one that is gone does not go to the way back.
  return (
    <div>
      {!isShown && <Heading>{say('plant.title', { id })}</Heading>}
      {outcome.value === 'reading' && <p role="status">{say('plant.reading')}</p>}
      {outcome.value === 'failed' && (
        <Fault
          text={fault.value}
          onRetry={() => {
            tries.value += 1
          }}
        />
      )}
      <SeenLine since={since.value} />
      {outcome.value === 'unseen' && <p>{say('seen.unseen')}</p>}
      {(outcome.value === 'absent' || outcome.value === 'unseen') &&
        (may('plants:write') ? (
          <EnterPlant
            session={session}
            id={id}
            isFocused={isScanned}
            title={say(outcome.value === 'unseen' ? 'seen.enter' : 'plants.enter')}
            onEntered={() => {
              tries.value += 1
            }}
          />
        ) : (
          outcome.value === 'absent' && <p>{say('plant.absent')}</p>
        ))}
      {outcome.value === 'there' && (
        <>
          {plants.map((plant) => (
            <PlantCard
              key={String(plant.id)}
              plant={plant}
              changes={changes}
              Heading={Heading}
              onCopy={() => {
                copied.value = plant
              }}
            />
          ))}
          {copied.value !== undefined && (
            <CopiesDialog
              client={client}
              list={list}
              plant={copied.value}
              onClose={() => {
                copied.value = undefined
              }}
            />
          )}
          {plants.length === 0 && <p role="status">{say('plant.wasDeleted')}</p>}
          {plants.length > 0 && !isScanned && (
            <p>
              <a href={linkTo('scan')}>{say('scan.next')}</a>
            </p>
          )}
        </>
      )}
      {(outcome.value === 'there' || outcome.value === 'absent') && (
        <History
          session={session}
          id={id}
          state={plants[0]}
          onRestored={() => {
            tries.value += 1
          }}
        />
      )}
    </div>
  )
}
