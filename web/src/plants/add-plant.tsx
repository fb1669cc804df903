import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { isFocusLost } from '../focus.ts'
import { say } from '../language/language.ts'
import { named } from '../named.ts'
import { tell } from '../notices.tsx'
import { isRefusal, said } from '../said.ts'
import { Fault } from '../sentence.tsx'
import { idIn } from './id.ts'
import { create, NOTHING, typed } from './new-plant.ts'
import type { PlantList } from './plant-list.ts'
import { TagSuggestions, useTags } from './tag-suggestions.tsx'
import { TooLong } from './too-long.tsx'

interface AddProps {
  readonly client: PlantstoreClient
  /** undefined: the token may not read plants, so the page reserves an id instead of proposing one. */
  readonly list: PlantList | undefined
}

/** The form for a new plant. It stays open for the next one. */
export function AddPlant({ client, list }: AddProps): JSX.Element {
  const proposed = useSignal<bigint | undefined>(undefined)
  const fault = useSignal('')
  const isSaving = useSignal(false)
  const name = useRef<HTMLInputElement>(null)
  const tags = useTags(list === undefined ? undefined : client)
  const nextId = async () => (list === undefined ? (await client.reserveIds(1)).first : client.proposeId())
  const propose = async () => {
    if (list === undefined) return
    try {
      proposed.value = await client.proposeId()
    } catch (error) {
      fault.value = say('plants.noProposal', { why: said(error) })
    }
  }
  // Before the page is painted: later, the focus would move away from where a person types already.
  useLayoutEffect(() => name.current?.focus(), [])
  useEffect(() => void propose(), [])
  const freeId = async () => {
    const id = proposed.value ?? (await nextId())
    proposed.value = undefined
    return id
  }
  const add = async () => {
    const sent = typed.value
    const own = sent.id.trim() === '' ? undefined : idIn(sent.id)
    if (own === null) {
      fault.value = say('plants.badId', { least: '−9223372036854775808', most: '9223372036854775807' })
      return
    }
    fault.value = ''
    isSaving.value = true
    const focused = document.activeElement
    try {
      const plant = await create(client, sent, own, freeId)
      list?.putFirst(plant)
      tell(say('plants.added', { id: plant.id, name: named(plant.name) }))
      // Text typed while the service worked belongs to the next plant. The tag stays, as the next plant often has it.
      if (typed.value === sent) typed.value = { ...NOTHING, tag: sent.tag }
      void propose()
      if (isFocusLost() || document.activeElement === focused) name.current?.focus()
    } catch (error) {
      const isTaken = isRefusal(error, 41201)
      fault.value = isTaken ? say('plants.idExists', { id: String(own) }) : say('plants.notAdded', { why: said(error) })
    } finally {
      isSaving.value = false
    }
  }
  const field = (member: 'id' | 'name' | 'tag') => (event: { readonly currentTarget: HTMLInputElement }) => {
    const { id, name, tag } = typed.value
    typed.value = { id, name, tag, [member]: event.currentTarget.value }
  }
  return (
    <form
      class="fields add"
      aria-label={say('plants.new')}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isSaving.value) void add()
      }}
    >
      <div class="field">
        <label for="new-id">{say('plants.id')}</label>
        <input
          id="new-id"
          inputMode="numeric"
          autocomplete="off"
          aria-describedby="new-id-note"
          placeholder={proposed.value === undefined ? '' : String(proposed.value)}
          value={typed.value.id}
          onInput={field('id')}
        />
        <span id="new-id-note" class="note">
          {proposed.value === undefined ? say('plants.emptyIdNext') : say('plants.emptyId', { id: proposed.value })}
        </span>
      </div>
      <div class="field grow">
        <label for="new-name">{say('plants.name')}</label>
        <input
          id="new-name"
          ref={name}
          required
          dir="auto"
          autocomplete="off"
          value={typed.value.name}
          onInput={field('name')}
          aria-describedby="new-name-fault"
        />
        <TooLong id="new-name-fault" member="name" text={typed.value.name} />
      </div>
      <div class="field">
        <label for="new-tag">{say('plants.tag')}</label>
        <input
          id="new-tag"
          list="new-tags"
          dir="auto"
          autocomplete="off"
          value={typed.value.tag}
          onInput={field('tag')}
          aria-describedby="new-tag-fault"
        />
        <TooLong id="new-tag-fault" member="tag" text={typed.value.tag} />
        <TagSuggestions id="new-tags" tags={tags} />
      </div>
      <button type="submit" class="primary" aria-disabled={isSaving.value}>
        {say(isSaving.value ? 'plants.adding' : 'plants.add')}
      </button>
      <Fault text={fault.value} />
    </form>
  )
}
