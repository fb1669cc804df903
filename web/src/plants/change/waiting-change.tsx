import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { say, timeOf } from '../../language/language.ts'
import type { PlainKey } from '../../language/texts.ts'
import { type Change, type Content, isFailing, isSame, type Waiting } from '../../offline/change.ts'
import { keep, ownerOf, renumber } from '../../offline/waiting.ts'
import { focusMain } from '../../page/focus.ts'
import { named, plain } from '../../page/named.ts'
import { tell } from '../../page/notices.tsx'
import { said, saidOf } from '../../page/said.ts'
import { Sentence } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import { ConflictDialog } from './conflict-dialog.tsx'
import { TooLong } from './plant-fields.tsx'

interface ChangeProps extends ViewProps {
  readonly waits: Waiting
  readonly isEdited: boolean
  readonly onEdit: (isEdited: boolean) => void
}

/** One change that waits: what it does, why it waits, and what the person can do about it. */
export function WaitingChange({ session, waits, isEdited, onEdit }: ChangeProps): JSX.Element {
  const { key, id, base, wanted, met, refusal } = waits
  const isDeciding = useSignal(false)
  const plant = plantIn(waits)
  // The person has seen the change, so a further one begins at what it wants.
  const change = (next: Partial<Change>, isDecided = false) =>
    void keep(key, { id, base: wanted, wanted, ...next }, ownerOf(session), isDecided).catch((error: unknown) =>
      tell(said(error), { isError: true }),
    )
  const tellDropped = () =>
    tell(say('waiting.dropped', { plant }), { action: { label: say('plants.undo'), run: () => change({ base }) } })
  const dropIt = () => {
    tellDropped()
    focusMain()
    change({ wanted: base })
  }
  const why = refusal && saidOf(refusal.number, refusal.message)
  return (
    <li>
      <ChangeText waits={waits} />
      {met !== undefined && <p class="bad">{say(reasonOf(waits))}</p>}
      {why !== undefined && (
        <p class="bad">
          <Sentence text={say(isFailing(waits) ? 'waiting.failing' : 'waiting.refused', { why })} />
        </p>
      )}
      {isEdited && wanted !== null ? (
        <Editor
          content={wanted}
          onSave={(next) => {
            change({ wanted: next })
            onEdit(false)
          }}
          onCancel={() => onEdit(false)}
        />
      ) : (
        <Buttons
          plant={plain(plant)}
          onDecide={met && (() => (isDeciding.value = true))}
          onEdit={wanted === null ? undefined : () => onEdit(true)}
          onRetry={refusal && (() => change({}))}
          onDrop={dropIt}
        />
      )}
      {isDeciding.value && <Decision {...{ waits, change, tellDropped }} onOver={() => (isDeciding.value = false)} />}
    </li>
  )
}

interface ButtonsProps {
  readonly plant: string
  /** undefined: there is nothing to decide; and so on. */
  readonly onDecide: (() => void) | undefined
  readonly onEdit: (() => void) | undefined
  readonly onRetry: (() => void) | undefined
  readonly onDrop: () => void
}

const Buttons = ({ plant, onDecide, onEdit, onRetry, onDrop }: ButtonsProps): JSX.Element => (
  <p class="fields">
    {onDecide && (
      <button type="button" class="primary" aria-label={say('waiting.decideOf', { plant })} onClick={onDecide}>
        {say('waiting.decide')}
      </button>
    )}
    {onEdit && (
      <button type="button" aria-label={say('waiting.editOf', { plant })} onClick={onEdit}>
        {say('plants.edit')}
      </button>
    )}
    {onRetry && (
      <button type="button" onClick={onRetry}>
        {say('page.tryAgain')}
      </button>
    )}
    <button type="button" aria-label={say('waiting.dropOf', { plant })} onClick={onDrop}>
      {say('waiting.drop')}
    </button>
  </p>
)

interface DecisionProps {
  readonly waits: Waiting
  readonly change: (next: Partial<Change>, isDecided: boolean) => void
  readonly tellDropped: () => void
  readonly onOver: () => void
}

/** The person decides between what waits and what the store has. */
function Decision({ waits, change, tellDropped, onOver }: DecisionProps): JSX.Element | null {
  const { key, id, met, isOwnId } = waits
  if (met === undefined || id === undefined) return null
  const theirs = met.theirs?.plant ?? null
  return (
    <ConflictDialog
      id={id}
      change={waits}
      theirs={met.theirs}
      {...(isOwnId ? {} : { act: 'waiting.addAnother' as const })}
      onYield={() => {
        onOver()
        tellDropped()
        change({ base: theirs, wanted: theirs }, true)
      }}
      onOverwrite={() => {
        onOver()
        if (isOwnId) change({ base: theirs }, true)
        else void renumber(key)
      }}
      later="page.notNow"
      onLater={onOver}
      onCancel={onOver}
    />
  )
}

/** Says what a change does. */
export function ChangeText({ waits }: Pick<ChangeProps, 'waits'>): JSX.Element {
  const { base, wanted, at } = waits
  return (
    <>
      <p>
        <strong>{say(kindOf(waits))}</strong> <Sentence text={plantIn(waits)} />{' '}
        {wanted?.tag !== undefined && <bdi translate={false}>{wanted.tag}</bdi>}{' '}
        <time class="note">{timeOf(new Date(at).toISOString(), 'short')}</time>
      </p>
      {base !== null && wanted !== null && !isSame(base, wanted) && (
        <p class="note">
          <Sentence text={say('waiting.before', { text: named([base.name, base.tag ?? ''].join(' ').trim()) })} />
        </p>
      )}
    </>
  )
}

const plantIn = ({ id, base, wanted }: Waiting): string =>
  [...(id === undefined ? [] : [id]), named((wanted ?? base)?.name ?? '')].join(' ')

function kindOf({ base, wanted, tried }: Waiting): PlainKey {
  if (tried !== undefined && isSame(base, wanted)) return 'waiting.back'
  if (wanted === null) return 'waiting.delete'
  return base === null ? 'waiting.add' : 'waiting.change'
}

function reasonOf({ base, met }: Waiting): PlainKey {
  if (base === null) return 'waiting.metTaken'
  return met?.theirs === null ? 'waiting.metDeleted' : 'waiting.met'
}

interface EditorProps {
  readonly content: Content
  readonly onSave: (next: Content) => void
  readonly onCancel: () => void
}

/** Edits the texts that wait. A text that stays keeps characters that no text field shows. */
function Editor({ content, onSave, onCancel }: EditorProps): JSX.Element {
  const name = useSignal<string | undefined>(undefined)
  const tag = useSignal<string | undefined>(undefined)
  const first = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => first.current?.focus(), [])
  const save = () => {
    const wantedTag = tag.value === undefined ? content.tag : tag.value
    onSave({ name: name.value ?? content.name, ...(wantedTag ? { tag: wantedTag } : {}) })
    focusMain()
  }
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <label class="field grow">
        {say('plants.name')}
        <textarea
          ref={first}
          rows={1}
          dir="auto"
          value={name.value ?? content.name}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
        <TooLong member="name" text={name.value ?? content.name} />
      </label>
      <label class="field">
        {say('plants.tag')}
        <textarea
          rows={1}
          dir="auto"
          value={tag.value ?? content.tag ?? ''}
          onInput={(event) => (tag.value = event.currentTarget.value)}
        />
        <TooLong member="tag" text={tag.value ?? content.tag ?? ''} />
      </label>
      <button type="submit" class="primary">
        {say('plants.save')}
      </button>
      <button type="button" onClick={onCancel}>
        {say('plants.cancel')}
      </button>
    </form>
  )
}
