import { computed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { say } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import { isSame } from '../../offline/change.ts'
import { submit } from '../../offline/send.ts'
import { isFocusLost } from '../../page/focus.ts'
import { askBeforeLosing } from '../../page/leaving.ts'
import { named } from '../../page/named.ts'
import { tell } from '../../page/notices.tsx'
import { linkTo } from '../../page/route.ts'
import { said } from '../../page/said.ts'
import { Fault } from '../../page/sentence.tsx'
import { Kept } from '../../session/kept.ts'
import type { ViewProps } from '../../session/session.ts'
import { putDraft } from '../list/drafts.ts'
import { tellKept } from './changes.ts'
import { TagSuggestions, TooLong, useTags } from './plant-fields.tsx'

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

interface EnterProps extends ViewProps {
  readonly id: bigint
  readonly title: string
  /** Whether the name gets the focus, unless another element has it. */
  readonly isFocused: boolean
  readonly onEntered: () => void
}

/** The form for a plant whose label was printed before the plant was entered. */
export function EnterPlant({ session, id, title, isFocused, onEntered }: EnterProps): JSX.Element {
  const { name, tag } = typed.value[String(id)] ?? NOTHING
  const fault = useSignal('')
  const isSaving = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  const tags = useTags(session.client, tag)
  useLayoutEffect(() => {
    if (isFocused && isFocusLost()) field.current?.focus()
  }, [])
  const enter = async () => {
    const sent = typed.value[String(id)]
    isSaving.value = true
    fault.value = ''
    try {
      const plant = plantOf(id, tag === '' ? { name } : { name, tag })
      const outcome = await submit(session, { id, base: null, wanted: plant })
      if (outcome.kind === 'met' && !(outcome.theirs && isSame(outcome.theirs.plant, plant))) {
        fault.value = say('plants.justEntered')
        return
      }
      const now = typed.value[String(id)]
      // Text typed while the service worked becomes an edit of the stored plant.
      if (now !== undefined && now !== sent) putDraft({ base: plant, ...now })
      keep(id, NOTHING)
      if (outcome.kind === 'waits') tellKept(`${id} ${named(name)}`)
      else tell(say('plants.added', { id, name: named(name) }))
      onEntered()
    } catch (error) {
      fault.value = say('plants.notAdded', { why: said(error) })
    } finally {
      isSaving.value = false
    }
  }
  return (
    <form
      class="fields add"
      aria-label={say('plants.newOf', { id })}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isSaving.value) void enter()
      }}
    >
      <p>{title}</p>
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
          list="plant-tags"
          dir="auto"
          autocomplete="off"
          value={tag}
          onInput={(event) => keep(id, { name, tag: event.currentTarget.value })}
          aria-describedby="plant-tag-fault plant-tag-note"
        />
        <TooLong id="plant-tag-fault" member="tag" text={tag} />
        <TagSuggestions id="plant-tags" tags={tags} />
        <span id="plant-tag-note" class="note">
          {say('plants.tagNote')}
        </span>
      </div>
      <div class="fields">
        <button type="submit" class="primary" aria-disabled={isSaving.value}>
          {say(isSaving.value ? 'plants.adding' : 'plants.add')}
        </button>
      </div>
      <Fault text={fault.value} />
    </form>
  )
}

interface NotAddedProps {
  /** The view that shows the form for a plant. */
  readonly view: 'plant' | 'scan'
  /** The plant whose form is in sight. */
  readonly except?: bigint | null
}

/** Leads back to the plants that the person has typed at their labels, and not added. */
export function NotAdded({ view, except }: NotAddedProps): JSX.Element | null {
  const ids = entered.value.filter((id) => id !== String(except))
  if (ids.length === 0) return null
  return (
    <p class="not-added" role="status">
      {say('plants.notAddedCount', { count: ids.length })}:{' '}
      {ids.map((id) => (
        <a key={id} href={linkTo(view, new URLSearchParams({ id }))}>
          {id}
        </a>
      ))}
    </p>
  )
}
