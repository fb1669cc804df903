import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { NewPlant, PlantstoreClient } from '../../../client/src/index.ts'
import { Kept } from '../kept.ts'
import { warnWhile } from '../leaving.ts'
import { tell } from '../notices.tsx'
import { said } from '../said.ts'
import { isRefusal } from './changes.ts'
import type { PlantList } from './plant-list.ts'

interface Typed {
  /** Empty: the page takes a free id. */
  readonly id: string
  readonly name: string
  readonly tag: string
}

const INTEGER = /^\s*(-?\d{1,19})\s*$/
const MOST = 2n ** 63n

const typed = new Kept<Typed>('plantstore-new-plant', { id: '', name: '', tag: '' })

// A tag alone is left from the plant before, so it is no unsaved text.
warnWhile(() => typed.value.id !== '' || typed.value.name !== '')

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
  const nextId = async () => (list === undefined ? (await client.reserveIds(1)).first : client.proposeId())
  const propose = async () => {
    if (list === undefined) return
    try {
      proposed.value = await client.proposeId()
    } catch (error) {
      fault.value = `No free id could be proposed. ${said(error)}`
    }
  }
  useEffect(() => {
    name.current?.focus()
    void propose()
  }, [])
  const add = async () => {
    const { id: digits, name: text, tag } = typed.value
    const own = digits.trim() === '' ? undefined : idIn(digits)
    if (own === null) {
      fault.value = 'An id is a whole number from −9223372036854775808 to 9223372036854775807.'
      return
    }
    fault.value = ''
    isSaving.value = true
    try {
      const id = own ?? proposed.value ?? (await nextId())
      const plant = await create(client, { id, name: text, tag }, own === undefined ? nextId : undefined)
      list?.putFirst(plant)
      tell(`Added ${plant.id} ${plant.name}`)
      // Keeps the tag, because the next plant often has the same.
      typed.value = { id: '', name: '', tag }
      proposed.value = undefined
      void propose()
      name.current?.focus()
    } catch (error) {
      const isTaken = isRefusal(error, 41201)
      fault.value = isTaken
        ? `A plant with the id ${own} exists already.`
        : `Not added; what you typed is kept. ${said(error)}`
    } finally {
      isSaving.value = false
    }
  }
  const field = (member: keyof Typed) => (event: { readonly currentTarget: HTMLInputElement }) => {
    typed.value = { ...typed.value, [member]: event.currentTarget.value }
  }
  return (
    <form
      class="fields add"
      aria-label="New plant"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isSaving.value) void add()
      }}
    >
      <div class="field">
        <label for="new-id">Id</label>
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
          {proposed.value === undefined ? 'Empty: the next free one' : `Empty: ${proposed.value}`}
        </span>
      </div>
      <div class="field grow">
        <label for="new-name">Name</label>
        <input
          id="new-name"
          ref={name}
          required
          dir="auto"
          autocomplete="off"
          value={typed.value.name}
          onInput={field('name')}
        />
      </div>
      <div class="field">
        <label for="new-tag">Tag</label>
        <input id="new-tag" dir="auto" autocomplete="off" value={typed.value.tag} onInput={field('tag')} />
      </div>
      <button type="submit" class="primary" aria-disabled={isSaving.value}>
        {isSaving.value ? 'Adding …' : 'Add'}
      </button>
      {fault.value !== '' && <p role="alert">{fault.value}</p>}
    </form>
  )
}

/** Creates the plant. If another client has taken the proposed id meanwhile, it takes the next free one. */
async function create(
  client: PlantstoreClient,
  { id, name, tag }: { readonly id: bigint; readonly name: string; readonly tag: string },
  nextId: (() => Promise<bigint>) | undefined,
): Promise<NewPlant> {
  const plant = tag === '' ? { id, name } : { id, name, tag }
  try {
    await client.createPlant(plant, { mustBeNew: true })
    return plant
  } catch (error) {
    if (nextId === undefined || !isRefusal(error, 41201)) throw error
    return create(client, { id: await nextId(), name, tag }, nextId)
  }
}

/** Returns null if the text is no int64. */
function idIn(text: string): bigint | null {
  const digits = INTEGER.exec(text)?.[1]
  if (digits === undefined) return null
  const id = BigInt(digits)
  return id >= -MOST && id < MOST ? id : null
}
