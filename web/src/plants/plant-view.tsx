import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { linkTo, route } from '../route.ts'
import { isAbort, isRefusal, said } from '../said.ts'
import type { ViewProps } from '../views.ts'
import { idIn } from './by-id.ts'
import { PlantChanges } from './changes.ts'
import { EnterPlant } from './enter-plant.tsx'
import { focusRow } from './grid-keys.ts'
import { PlantList } from './plant-list.ts'
import { PlantRow } from './plant-row.tsx'

type Outcome = 'reading' | 'there' | 'absent' | 'failed'

/** The view that the code of a label opens: shows and edits the plant, or enters a plant that does not exist yet. */
export function PlantView({ session: { client, may } }: ViewProps): JSX.Element {
  const id = idIn(route.value.query.get('id') ?? '')
  const list = useMemo(() => new PlantList(client), [client, id])
  const changes = useMemo(() => (may('plants:write') ? new PlantChanges(client, list) : undefined), [client, list])
  const outcome = useSignal<Outcome>('reading')
  const fault = useSignal('')
  const tries = useSignal(0)
  useEffect(() => {
    if (id === null) return undefined
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
  if (id === null) return <p role="alert">The address contains no valid id of a plant.</p>
  const plants = list.chunks.value.flatMap((chunk) => chunk.plants)
  return (
    <>
      <h1>Plant {String(id)}</h1>
      {outcome.value === 'reading' && <p role="status">Reading …</p>}
      {outcome.value === 'failed' && (
        <p role="alert">
          {fault.value}{' '}
          <button
            type="button"
            onClick={() => {
              tries.value += 1
            }}
          >
            Try again
          </button>
        </p>
      )}
      {outcome.value === 'absent' &&
        (may('plants:write') ? (
          <EnterPlant
            client={client}
            id={id}
            onEntered={() => {
              tries.value += 1
            }}
          />
        ) : (
          <p>There is no plant with this id.</p>
        ))}
      {outcome.value === 'there' && (
        <>
          <div role="grid" class="plants" aria-label={`Plant ${id}`}>
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
          {plants.length === 0 && <p role="status">This plant was deleted.</p>}
          {plants.length > 0 && (
            <p>
              <a href={linkTo('labels', new URLSearchParams({ id: String(id) }))}>Print its label</a>
            </p>
          )}
        </>
      )}
    </>
  )
}
