import { computed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { isFocusLost } from '../focus.ts'
import { Kept } from '../kept.ts'
import { say } from '../language/language.ts'
import { askBeforeLosing } from '../leaving.ts'
import { named } from '../named.ts'
import { tell } from '../notices.tsx'
import { isRefusal, said } from '../said.ts'
import { Fault } from '../sentence.tsx'
import { putDraft } from './drafts.ts'
import { TooLong } from './too-long.tsx'

interface Typed {
  readonly name: string
  readonly tag: string
}

const NOTHING: Typed = { name: '', tag: '' }

/** Typed texts by id: a person may scan several labels in one tab, and come back to each. */
const typed = new Kept<Readonly<Record<string, Typed>>>('plantstore-entered-plants', {})

/** The ids of plants that the person has typed at their labels, and not added. */
export const entered = computed((): readonly string[] => Object.keys(typed.value))

askBeforeLosing(
  () => {
    const ids = entered.value
    return ids.length === 0 ? undefined : say('plants.lossEntered', { ids: ids.join(', ') })
  },
  { isKept: true },
)

function keep(id: bigint, next: Typed): void {
  const { [String(id)]: _before, ...others } = typed.value
  typed.value = next.name === '' && next.tag === '' ? others : { ...others, [String(id)]: next }
}

interface EnterProps {
  readonly client: PlantstoreClient
  readonly id: bigint
  /** Whether the name gets the focus, unless another element has it. */
  readonly isFocused: boolean
  readonly onEntered: () => void
}

/** The form for a plant whose label was printed before the plant was entered. */
export function EnterPlant({ client, id, isFocused, onEntered }: EnterProps): JSX.Element {
  const { name, tag } = typed.value[String(id)] ?? NOTHING
  const fault = useSignal('')
  const isSaving = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (isFocused && isFocusLost()) field.current?.focus()
  }, [])
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
      tell(say('plants.added', { id, name: named(name) }))
      onEntered()
    } catch (error) {
      const isTaken = isRefusal(error, 40901)
      fault.value = isTaken ? say('plants.justEntered') : say('plants.notAdded', { why: said(error) })
    } finally {
      isSaving.value = false
    }
  }
  return (
    <form
      class="fields"
      aria-label={say('plants.newOf', { id })}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isSaving.value) void enter()
      }}
    >
      <p>{say('plants.enter')}</p>
      <div class="field grow">
        <label for="plant-name">{say('plants.name')}</label>
        <input
          id="plant-name"
          ref={field}
          required
          dir="auto"
          autocomplete="off"
          value={name}
          onInput={(event) => keep(id, { name: event.currentTarget.value, tag })}
          aria-describedby="plant-name-fault"
        />
        <TooLong id="plant-name-fault" member="name" text={name} />
      </div>
      <div class="field">
        <label for="plant-tag">{say('plants.tag')}</label>
        <input
          id="plant-tag"
          dir="auto"
          autocomplete="off"
          value={tag}
          onInput={(event) => keep(id, { name, tag: event.currentTarget.value })}
          aria-describedby="plant-tag-fault"
        />
        <TooLong id="plant-tag-fault" member="tag" text={tag} />
      </div>
      <button type="submit" class="primary" aria-disabled={isSaving.value}>
        {say(isSaving.value ? 'plants.adding' : 'plants.add')}
      </button>
      <Fault text={fault.value} />
    </form>
  )
}
