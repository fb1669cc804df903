import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { tell } from '../notices.tsx'
import { said } from '../said.ts'
import { addReserved, chosen, MOST_LABELS } from './chosen.ts'

/** Adds labels for plants that are not entered yet: each has a reserved id, and room for a name. */
export function ReserveIds({ client }: { readonly client: PlantstoreClient }): JSX.Element {
  const count = useSignal('21')
  const fault = useSignal('')
  const isReserving = useSignal(false)
  const reserve = async () => {
    const wanted = Number(count.value)
    const room = MOST_LABELS - chosen.value.length
    if (!Number.isInteger(wanted) || wanted < 1 || wanted > room) {
      fault.value = room === 0 ? 'There is no room for more labels.' : `Give a whole number from 1 to ${room}.`
      return
    }
    fault.value = ''
    isReserving.value = true
    try {
      const [first, last] = await addReserved(client, wanted)
      tell(`Reserved the ids ${first} to ${last}. Scan a label to enter its plant.`)
    } catch (error) {
      fault.value = `No ids were reserved. ${said(error)}`
    } finally {
      isReserving.value = false
    }
  }
  return (
    <fieldset>
      <legend>Plants to come</legend>
      <p class="note">Print labels now and enter the plants later. Each label gets an id that nobody else gets.</p>
      <form
        class="fields"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (!isReserving.value) void reserve()
        }}
      >
        <div class="field">
          <label for="reserve-count">Labels</label>
          <input
            id="reserve-count"
            inputMode="numeric"
            autocomplete="off"
            aria-invalid={fault.value !== ''}
            aria-describedby="reserve-fault"
            value={count.value}
            onInput={(event) => {
              count.value = event.currentTarget.value
            }}
          />
        </div>
        <button type="submit" aria-disabled={isReserving.value}>
          Reserve ids
        </button>
      </form>
      <p role="alert" id="reserve-fault">
        {fault.value}
      </p>
    </fieldset>
  )
}
