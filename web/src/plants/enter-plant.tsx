import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { Kept } from '../kept.ts'
import { askBeforeLosing } from '../leaving.ts'
import { named } from '../named.tsx'
import { tell } from '../notices.tsx'
import { isRefusal, said } from '../said.ts'
import { putDraft } from './drafts.ts'

interface Typed {
  readonly name: string
  readonly tag: string
}

const NOTHING: Typed = { name: '', tag: '' }

/** Typed texts by id: a person may scan several labels in one tab, and come back to each. */
const typed = new Kept<Readonly<Record<string, Typed>>>('plantstore-entered-plants', {})

askBeforeLosing(() => {
  const ids = Object.keys(typed.value)
  return ids.length === 0 ? undefined : `the new plants that you have not added: ${ids.join(', ')}`
})

function keep(id: bigint, next: Typed): void {
  const { [String(id)]: _before, ...others } = typed.value
  typed.value = next.name === '' && next.tag === '' ? others : { ...others, [String(id)]: next }
}

interface EnterProps {
  readonly client: PlantstoreClient
  readonly id: bigint
  readonly onEntered: () => void
}

/** The form for a plant whose label was printed before the plant was entered. */
export function EnterPlant({ client, id, onEntered }: EnterProps): JSX.Element {
  const { name, tag } = typed.value[String(id)] ?? NOTHING
  const fault = useSignal('')
  const isSaving = useSignal(false)
  const enter = async () => {
    const sent = typed.value[String(id)]
    isSaving.value = true
    fault.value = ''
    try {
      const { plant } = await client.createPlant({ id, name, ...(tag === '' ? {} : { tag }) })
      const now = typed.value[String(id)]
      // Text typed while the service worked becomes an edit of the stored plant.
      if (now !== undefined && now !== sent) putDraft({ base: plant, ...now })
      keep(id, NOTHING)
      tell(`Added ${id} ${named(name)}`)
      onEntered()
    } catch (error) {
      const isTaken = isRefusal(error, 40901)
      fault.value = isTaken
        ? 'Somebody has just entered a plant with this id. Open its address again to see it.'
        : `Not added; what you typed is kept. ${said(error)}`
    } finally {
      isSaving.value = false
    }
  }
  return (
    <form
      class="fields"
      aria-label={`New plant ${id}`}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isSaving.value) void enter()
      }}
    >
      <p>No plant has this id yet. Enter its name.</p>
      <div class="field grow">
        <label for="plant-name">Name</label>
        <input
          id="plant-name"
          required
          dir="auto"
          autocomplete="off"
          value={name}
          onInput={(event) => keep(id, { name: event.currentTarget.value, tag })}
        />
      </div>
      <div class="field">
        <label for="plant-tag">Tag</label>
        <input
          id="plant-tag"
          dir="auto"
          autocomplete="off"
          value={tag}
          onInput={(event) => keep(id, { name, tag: event.currentTarget.value })}
        />
      </div>
      <button type="submit" class="primary" aria-disabled={isSaving.value}>
        {isSaving.value ? 'Adding …' : 'Add'}
      </button>
      {fault.value !== '' && <p role="alert">{fault.value}</p>}
    </form>
  )
}
