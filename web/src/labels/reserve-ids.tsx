import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { Button, Field, submitting } from '../page/controls.tsx'
import { tell } from '../page/notices.tsx'
import { useRequest } from '../page/request.ts'
import { Sentence } from '../page/sentence.tsx'
import { addReserved, chosen, MOST_CHOSEN, MOST_LABELS } from '../plants/many/chosen-labels.ts'

/** Adds labels for plants that are not entered yet: each has a reserved id, and room for a name. */
export function ReserveIds({ client }: { readonly client: PlantstoreClient }): JSX.Element {
  const count = useSignal('21')
  const { isBusy, fault, once } = useRequest((why) => say('page.failed', { what: say('labels.reserve'), why }))
  const reserve = () => {
    const wanted = Number(count.value)
    const room = Math.min(MOST_LABELS, MOST_CHOSEN - chosen.value.length)
    if (!Number.isInteger(wanted) || wanted < 1 || wanted > room) {
      fault.value = room === 0 ? say('labels.noRoom') : say('labels.badWhole', { least: 1, most: room })
      return
    }
    void once(async () => {
      const [first, last] = await addReserved(client, wanted)
      tell(say('labels.reserved', { first, last }))
    })
  }
  return (
    <fieldset>
      <legend>{say('labels.toComeTitle')}</legend>
      <p class="note">{say('labels.toComeNote')}</p>
      <form class="fields" noValidate onSubmit={submitting(() => !isBusy.value && reserve())}>
        <Field
          id="reserve-count"
          label={say('view.labels')}
          inputMode="numeric"
          aria-invalid={fault.value !== ''}
          aria-describedby="reserve-fault"
          value={count.value}
          onText={(text) => (count.value = text)}
        />
        <Button text={say('labels.reserve')} type="submit" isBusy={isBusy.value} />
      </form>
      <p role="alert" id="reserve-fault">
        <Sentence text={fault.value} />
      </p>
    </fieldset>
  )
}
