import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { tell } from '../page/notices.tsx'
import { said } from '../page/said.ts'
import { Sentence } from '../page/sentence.tsx'
import { addReserved, chosen, MOST_CHOSEN, MOST_LABELS } from '../plants/chosen-labels.ts'

/** Adds labels for plants that are not entered yet: each has a reserved id, and room for a name. */
export function ReserveIds({ client }: { readonly client: PlantstoreClient }): JSX.Element {
  const count = useSignal('21')
  const fault = useSignal('')
  const isReserving = useSignal(false)
  const reserve = async () => {
    const wanted = Number(count.value)
    const room = Math.min(MOST_LABELS, MOST_CHOSEN - chosen.value.length)
    if (!Number.isInteger(wanted) || wanted < 1 || wanted > room) {
      fault.value = room === 0 ? say('labels.noRoom') : say('labels.giveWhole', { least: 1, most: room })
      return
    }
    fault.value = ''
    isReserving.value = true
    try {
      const [first, last] = await addReserved(client, wanted)
      tell(say('labels.reserved', { first, last }))
    } catch (error) {
      fault.value = say('labels.notReserved', { why: said(error) })
    } finally {
      isReserving.value = false
    }
  }
  return (
    <fieldset>
      <legend>{say('labels.toComeTitle')}</legend>
      <p class="note">{say('labels.toComeNote')}</p>
      <form
        class="fields"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (!isReserving.value) void reserve()
        }}
      >
        <div class="field">
          <label for="reserve-count">{say('view.labels')}</label>
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
          {say('labels.reserve')}
        </button>
      </form>
      <p role="alert" id="reserve-fault">
        <Sentence text={fault.value} />
      </p>
    </fieldset>
  )
}
