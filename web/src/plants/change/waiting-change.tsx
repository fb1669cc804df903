import { type Signal, useSignal } from '@preact/signals'
import type { JSX, RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { say, timeOf } from '../../language/language.ts'
import type { PlainKey } from '../../language/texts.ts'
import { type Content, isFailing, isSame, type Waiting } from '../../offline/change.ts'
import { Button, Field, submitting } from '../../page/controls.tsx'
import { focusMain } from '../../page/focus.ts'
import { named, plain } from '../../page/named.ts'
import { saidOf } from '../../page/said.ts'
import { Sentence } from '../../page/sentence.tsx'
import { titleOf } from './conflict-dialog.tsx'
import { changeTo, Decide, metIn, takeBack, textOf } from './decide.tsx'
import { TooLong } from './plant-fields.tsx'

interface ChangeProps {
  /** One change, or those of one action. */
  readonly changes: readonly Waiting[]
  readonly isEdited: boolean
  readonly onEdit: (isEdited: boolean) => void
}

/** Names that the line of an action shows. */
const SHOWN = 3

/** What waits: what it does, why it waits, and what the person can do about it. */
export function WaitingChange({ changes, isEdited, onEdit }: ChangeProps): JSX.Element {
  const isDeciding = useSignal(false)
  const plant = textOf(changes)
  const met = metIn(changes)
  const refused = changes.filter(({ refusal }) => refusal !== undefined)
  const [only, ...others] = changes
  const editable = others.length === 0 ? only?.wanted : null
  return (
    <li>
      <ChangeText changes={changes} />
      {met.length > 0 && <p class="bad">{titleOf(met)}</p>}
      {refusalsIn(refused).map((why) => (
        <p key={why} class="bad">
          <Sentence text={why} />
        </p>
      ))}
      {isEdited && editable ? (
        <Editor
          content={editable}
          onSave={(wanted) => {
            changeTo(changes, () => ({ wanted }))
            onEdit(false)
          }}
          onCancel={() => onEdit(false)}
        />
      ) : (
        <Buttons
          plant={plain(plant)}
          onDecide={met.length > 0 ? () => (isDeciding.value = true) : undefined}
          onEdit={editable ? () => onEdit(true) : undefined}
          onRetry={refused.length > 0 ? () => changeTo(refused, () => ({})) : undefined}
          onDrop={() => {
            takeBack(changes, ({ base }) => ({ wanted: base }))
            focusMain()
          }}
        />
      )}
      {isDeciding.value && <Decide changes={met} onClose={() => (isDeciding.value = false)} />}
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
    {onDecide && <Button text={say('waiting.decide')} class="primary" of={plant} onClick={onDecide} />}
    {onEdit && <Button text={say('plants.edit')} of={plant} onClick={onEdit} />}
    {onRetry && <Button text={say('page.tryAgain')} onClick={onRetry} />}
    <Button text={say('waiting.drop')} of={plant} onClick={onDrop} />
  </p>
)

/** Says what changes do: one of a plant, or those of an action. */
export function ChangeText({ changes }: Pick<ChangeProps, 'changes'>): JSX.Element | null {
  const [first, ...others] = changes
  if (first === undefined) return null
  const { base, wanted, at } = first
  const time = <time class="note">{timeOf(at, 'short')}</time>
  if (others.length > 0) {
    return (
      <>
        <p>
          <strong translate={false}>{textOf(changes)}</strong> {say('plants.count', { count: changes.length })} {time}
        </p>
        <p class="note">
          <Sentence
            text={changes
              .slice(0, SHOWN)
              .map((each) => textOf([each]))
              .join(', ')}
          />
          {changes.length > SHOWN && '…'}
        </p>
      </>
    )
  }
  return (
    <>
      <p>
        <strong>{say(kindOf(first))}</strong> <Sentence text={textOf(changes)} />{' '}
        {wanted?.tag !== undefined && <bdi translate={false}>{wanted.tag}</bdi>} {time}
      </p>
      {base !== null && wanted !== null && !isSame(base, wanted) && (
        <p class="note">
          <Sentence text={say('waiting.before', { text: named([base.name, base.tag ?? ''].join(' ').trim()) })} />
        </p>
      )}
    </>
  )
}

function kindOf({ base, wanted, tried }: Waiting): PlainKey {
  if (tried !== undefined && isSame(base, wanted)) return 'waiting.back'
  if (wanted === null) return 'plants.delete'
  return base === null ? 'plants.add' : 'waiting.change'
}

/** Why the service refuses changes, each reason once. */
const refusalsIn = (refused: readonly Waiting[]): readonly string[] => [
  ...new Set(
    refused.map((each) =>
      say(isFailing(each) ? 'waiting.failing' : 'waiting.refused', {
        why: each.refusal === undefined ? '' : saidOf(each.refusal.number, each.refusal.message),
      }),
    ),
  ),
]

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
  const field = (member: 'name' | 'tag', typed: Signal<string | undefined>, place?: RefObject<HTMLElement | null>) => {
    const value = typed.value ?? content[member] ?? ''
    return (
      <Field
        id={`waiting-${member}`}
        label={say(`plants.${member}`)}
        isWide={member === 'name'}
        {...(place && { place })}
        rows={1}
        value={value}
        onText={(text) => (typed.value = text)}
      >
        <TooLong member={member} text={value} />
      </Field>
    )
  }
  return (
    <form class="fields" onSubmit={submitting(save)}>
      {field('name', name, first)}
      {field('tag', tag)}
      <Button text={say('plants.save')} type="submit" class="primary" />
      <Button text={say('plants.cancel')} onClick={onCancel} />
    </form>
  )
}
