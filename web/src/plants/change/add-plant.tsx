import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { idIn } from '../../codes/typed-code.ts'
import { say } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import { submit } from '../../offline/send.ts'
import { isFocusLost } from '../../page/focus.ts'
import { named } from '../../page/named.ts'
import { tell } from '../../page/notices.tsx'
import { isSilence, said, saidBadId } from '../../page/said.ts'
import { Fault } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import type { PlantList } from '../list/plant-list.ts'
import { tellKept } from './changes.ts'
import { NOTHING, typed } from './new-plant.ts'
import { TagSuggestions, TooLong, useTags } from './plant-fields.tsx'

interface AddProps extends ViewProps {
  /** undefined: the token may not read plants, so the page reserves an id instead of proposing one. */
  readonly list: PlantList | undefined
  /** Closes the form, whose texts are gone by then. */
  readonly onCancel?: () => void
}

/** The form for a new plant. It stays open for the next one. */
export function AddPlant({ session, list, onCancel }: AddProps): JSX.Element {
  const { client } = session
  const proposed = useSignal<bigint | undefined>(undefined)
  const fault = useSignal('')
  const isSaving = useSignal(false)
  /** Whether the person gives an id of their own. Few do. */
  const isOwnId = useSignal(false)
  const isIdOpen = isOwnId.value || typed.value.id !== ''
  const idField = useRef<HTMLInputElement>(null)
  const name = useRef<HTMLInputElement>(null)
  const tags = useTags(list === undefined ? undefined : client, typed.value.tag)
  const nextId = async () => (list === undefined ? (await client.reserveIds(1)).first : client.proposeId())
  const propose = async () => {
    if (list === undefined) return
    try {
      proposed.value = await client.proposeId()
    } catch (error) {
      if (!isSilence(error)) fault.value = say('plants.noProposal', { why: said(error) })
    }
  }
  // Before the page is painted: later, the focus would move away from where a person types already.
  useLayoutEffect(() => name.current?.focus(), [])
  useEffect(() => void propose(), [])
  useLayoutEffect(() => {
    if (isOwnId.value) idField.current?.focus()
  }, [isOwnId.value])
  const freeId = async () => {
    const id = proposed.value ?? (await nextId())
    proposed.value = undefined
    return id
  }
  const add = async () => {
    const sent = typed.value
    const own = sent.id.trim() === '' ? undefined : idIn(sent.id)
    if (own === null) {
      fault.value = saidBadId()
      return
    }
    fault.value = ''
    isSaving.value = true
    const focused = document.activeElement
    const content = { name: sent.name, ...(sent.tag === '' ? {} : { tag: sent.tag }) }
    try {
      const outcome = await submit(session, { id: own, base: null, wanted: content }, { freeId })
      if (outcome.kind === 'met') {
        fault.value = say('plants.idExists', { id: String(own) })
        return
      }
      if (outcome.kind === 'waits') tellKept(named(sent.name))
      else {
        list?.putFirst(plantOf(outcome.id, content))
        tell(say('plants.added', { id: outcome.id, name: named(sent.name) }))
        void propose()
      }
      // Text typed while the service worked belongs to the next plant. The tag stays, as the next plant often has it.
      const { id, name: all, tag } = typed.value
      const next = all.startsWith(sent.name) ? all.slice(sent.name.length) : all
      typed.value = { id: id === sent.id ? '' : id, name: next, tag }
      if (isFocusLost() || document.activeElement === focused) name.current?.focus()
    } catch (error) {
      fault.value = say('plants.notAdded', { why: said(error) })
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
          aria-describedby="new-tag-fault new-tag-note"
        />
        <TooLong id="new-tag-fault" member="tag" text={typed.value.tag} />
        <TagSuggestions id="new-tags" tags={tags} />
        <span id="new-tag-note" class="note">
          {say('plants.tagNote')}
        </span>
      </div>
      {isIdOpen ? (
        <div class="field">
          <label for="new-id">{say('plants.id')}</label>
          <input
            id="new-id"
            ref={idField}
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
      ) : (
        <p class="own-id">
          <span class="note">
            {proposed.value === undefined ? say('plants.nextId') : say('plants.thisId', { id: proposed.value })}
          </span>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              isOwnId.value = true
            }}
          >
            {say('plants.changeId')}
          </button>
        </p>
      )}
      <div class="fields">
        <button type="submit" class="primary" aria-disabled={isSaving.value}>
          {say(isSaving.value ? 'plants.adding' : 'plants.add')}
        </button>
        {onCancel !== undefined && (
          <button
            type="button"
            onClick={() => {
              typed.value = NOTHING
              onCancel()
            }}
          >
            {say('plants.cancel')}
          </button>
        )}
      </div>
      <Fault text={fault.value} />
    </form>
  )
}

/** The view of plants for a token that may add plants but not read them. */
export function AddView({ session }: ViewProps): JSX.Element {
  return (
    <>
      <h1>{say('plants.addTitle')}</h1>
      <AddPlant session={session} list={undefined} />
    </>
  )
}
