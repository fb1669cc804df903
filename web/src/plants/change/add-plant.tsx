import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { idIn } from '../../codes/typed-code.ts'
import { say } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import { submit } from '../../offline/send.ts'
import { Button, Field } from '../../page/controls.tsx'
import { isFocusLost } from '../../page/focus.ts'
import { named } from '../../page/named.ts'
import { tell } from '../../page/notices.tsx'
import { typedSince, useRequest } from '../../page/request.ts'
import { isSilence, saidBadId } from '../../page/said.ts'
import { Fault } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import type { PlantList } from '../list/plant-list.ts'
import { tellKept } from './changes.ts'
import { contentOf, NOTHING, type Typed, type, typedFor } from './new-plant.ts'
import { NewPlantForm } from './new-plant-form.tsx'

interface AddProps extends ViewProps {
  /** undefined: the token may not read plants, so the page reserves an id instead of proposing one. */
  readonly list: PlantList | undefined
  /** Closes the form, whose texts are gone by then. */
  readonly onCancel?: () => void
}

/** Adds a plant with a free id, or one of the person's own. The form stays open for the next one. */
export function AddPlant({ session, list, onCancel }: AddProps): JSX.Element {
  const { client } = session
  const proposed = useSignal<bigint | undefined>(undefined)
  const name = useRef<HTMLInputElement>(null)
  const { fault, run } = useRequest((why) => say('plants.noProposal', { why }))
  const propose = async (signal: AbortSignal) => {
    try {
      if (list !== undefined) proposed.value = await client.proposeId({ signal })
    } catch (error) {
      if (!isSilence(error)) throw error
    }
  }
  // Before the page is painted: later, the focus would move away from where a person types already.
  useLayoutEffect(() => name.current?.focus(), [])
  useEffect(() => void run(propose), [])
  const freeId = async () => {
    const id = proposed.value ?? (list === undefined ? (await client.reserveIds(1)).first : await client.proposeId())
    proposed.value = undefined
    return id
  }
  const add = async (sent: Typed) => {
    const own = sent.id.trim() === '' ? undefined : idIn(sent.id)
    if (own === null) return saidBadId()
    const focused = document.activeElement
    const content = contentOf(sent)
    const outcome = await submit(session, { id: own, base: null, wanted: content }, { freeId })
    if (outcome.kind === 'met') return say('fault.idTaken')
    if (outcome.kind === 'waits') tellKept(named(sent.name))
    else {
      list?.putFirst(plantOf(outcome.id, content))
      tell(say('plants.added', { id: outcome.id, name: named(sent.name) }))
      void run(propose)
    }
    // Text typed while the service worked belongs to the next plant. The tag stays, as the next plant often has it.
    const { id, name: all } = typedFor(undefined)
    type(undefined, { id: id === sent.id ? '' : id, name: typedSince(sent.name, all) })
    if (isFocusLost() || document.activeElement === focused) name.current?.focus()
    return undefined
  }
  const cancel = () => {
    type(undefined, NOTHING)
    onCancel?.()
  }
  return (
    <NewPlantForm
      title={say('plants.new')}
      label={undefined}
      place={name}
      client={list && client}
      add={add}
      onCancel={onCancel && cancel}
    >
      <IdOfNew proposed={proposed.value} />
      <Fault text={fault.value} />
    </NewPlantForm>
  )
}

/** Says which id the plant will have, and lets the few who want to give one of their own. */
function IdOfNew({ proposed }: { readonly proposed: bigint | undefined }): JSX.Element {
  const isOwn = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  const { id } = typedFor(undefined)
  const next = proposed === undefined ? say('plants.nextFree') : String(proposed)
  useLayoutEffect(() => {
    if (isOwn.value) field.current?.focus()
  }, [isOwn.value])
  if (!isOwn.value && id === '') {
    return (
      <p class="own-id">
        <span class="note">{say('page.about', { what: say('plants.id'), of: next })}</span>
        <Button text={say('plants.changeId')} class="quiet" onClick={() => (isOwn.value = true)} />
      </p>
    )
  }
  return (
    <Field
      id="new-id"
      label={say('plants.id')}
      note={say('plants.emptyId', { id: next })}
      place={field}
      inputMode="numeric"
      placeholder={proposed === undefined ? '' : String(proposed)}
      value={id}
      onText={(text) => type(undefined, { id: text })}
    />
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
