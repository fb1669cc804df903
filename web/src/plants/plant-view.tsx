import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { StoredPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { linkTo, route } from '../route.ts'
import { isAbort, isRefusal, said } from '../said.ts'
import { Fault } from '../sentence.tsx'
import type { ViewProps } from '../views.ts'
import { CopiesDialog } from './bulk/copies-dialog.tsx'
import { PlantChanges } from './changes.ts'
import { EnterPlant } from './enter-plant.tsx'
import { focusRow } from './grid-keys.ts'
import { History } from './history.tsx'
import { idIn } from './id.ts'
import { follow } from './live.ts'
import { PlantList } from './plant-list.ts'
import { PlantRow } from './plant-row.tsx'

type Outcome = 'reading' | 'there' | 'absent' | 'failed'

/** The view that the code of a label opens. */
export function PlantView({ session }: ViewProps): JSX.Element {
  const id = idIn(route.value.query.get('id') ?? '')
  if (id === null) return <p role="alert">{say('plant.badId')}</p>
  return (
    <>
      <h1>{say('plant.title', { id })}</h1>
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
export function OnePlant({ session: { client, may, own }, id, isScanned = false }: OnePlantProps): JSX.Element {
  const list = useMemo(() => new PlantList(client), [client, id])
  const changes = useMemo(() => (may('plants:write') ? new PlantChanges(client, list) : undefined), [client, list])
  const outcome = useSignal<Outcome>('reading')
  const fault = useSignal('')
  const tries = useSignal(0)
  const copied = useSignal<StoredPlant | undefined>(undefined)
  useEffect(() => {
    const ending = new AbortController()
    outcome.value = 'reading'
    const read = async () => {
      try {
        list.putFirst((await client.getPlant(id, { signal: ending.signal })).plant)
        outcome.value = 'there'
        // The form or button that had the focus is gone.
        if (tries.value > 0) focusRow(String(id))
      } catch (error) {
        if (isAbort(error) || ending.signal.aborted) return
        outcome.value = isRefusal(error, 40402) ? 'absent' : 'failed'
        fault.value = said(error)
      }
    }
    void read()
    return () => ending.abort()
  }, [client, list, tries.value])
  useEffect(() => follow(client, list, own.id), [client, list])
  const plants = list.chunks.value.flatMap((chunk) => chunk.plants)
  return (
    <>
      {outcome.value === 'reading' && <p role="status">{say('plant.reading')}</p>}
      {outcome.value === 'failed' && (
        <Fault
          text={fault.value}
          onRetry={() => {
            tries.value += 1
          }}
        />
      )}
      {outcome.value === 'absent' &&
        (may('plants:write') ? (
          <EnterPlant
            client={client}
            id={id}
            isFocused={isScanned}
            onEntered={() => {
              tries.value += 1
            }}
          />
        ) : (
          <p>{say('plant.absent')}</p>
        ))}
      {outcome.value === 'there' && (
        <>
          <div role="grid" class="plants one" aria-label={say('plant.title', { id })}>
            {plants.map((plant) => (
              <PlantRow
                key={String(plant.id)}
                plant={plant}
                index={1}
                isReachable
                onFocus={() => {}}
                changes={changes}
              />
            ))}
          </div>
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
          {plants.length > 0 && (
            <p class="fields">
              <a class="button" href={linkTo('labels', new URLSearchParams({ id: String(id) }))}>
                {say('plants.printLabel')}
              </a>
              {!isScanned && (
                <a class="button" href={linkTo('scan')}>
                  {say('scan.next')}
                </a>
              )}
              {changes !== undefined && (
                <button
                  type="button"
                  onClick={() => {
                    copied.value = plants[0]
                  }}
                >
                  {say('plants.another')}
                </button>
              )}
            </p>
          )}
        </>
      )}
      {(outcome.value === 'there' || outcome.value === 'absent') && (
        <History
          client={client}
          id={id}
          state={plants[0]}
          mayWrite={may('plants:write')}
          onRestored={() => {
            tries.value += 1
          }}
        />
      )}
    </>
  )
}
