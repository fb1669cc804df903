import type { ComponentChildren, JSX, RefObject, TargetedInputEvent } from 'preact'
import type { PlantstoreClient } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { Button, submitting } from '../../page/controls.tsx'
import { useRequest } from '../../page/request.ts'
import { Fault } from '../../page/sentence.tsx'
import { type Typed, type, typedFor } from './new-plant.ts'
import { TagSuggestions, TooLong, useTags } from './plant-fields.tsx'

interface FormProps {
  readonly title: string
  /** The id of the label; undefined: the plant has none. */
  readonly label: bigint | undefined
  /** Of the field of the name, which the form around gives the focus. */
  readonly place: RefObject<HTMLInputElement | null>
  /** undefined: the token may not read tags. */
  readonly client: PlantstoreClient | undefined
  /** Resolves with why the plant is not added, if it is not. */
  readonly add: (sent: Typed) => Promise<string | undefined>
  readonly onCancel?: (() => void) | undefined
  readonly intro?: string
  /** What else the person decides. */
  readonly children?: ComponentChildren
}

/** The form for a new plant. Its texts outlive it. */
export function NewPlantForm(props: FormProps): JSX.Element {
  const { title, label, place, client, add, onCancel, intro, children } = props
  const { name, tag } = typedFor(label)
  const tags = useTags(client, tag)
  const { isBusy, fault, once } = useRequest((why) => say('plants.notAdded', { why }))
  const send = () =>
    void once(async () => {
      fault.value = (await add(typedFor(label))) ?? ''
    })
  const field = (member: 'name' | 'tag') => ({
    id: `new-${member}`,
    dir: 'auto' as const,
    autocomplete: 'off' as const,
    value: typedFor(label)[member],
    onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement>) =>
      type(label, { [member]: currentTarget.value }),
  })
  return (
    <form class="fields add" aria-label={title} onSubmit={submitting(send)}>
      {intro !== undefined && <p>{intro}</p>}
      <div class="field grow">
        <label for="new-name">{say('plants.name')}</label>
        <input {...field('name')} ref={place} required aria-describedby="new-name-fault" />
        <TooLong id="new-name-fault" member="name" text={name} />
      </div>
      <div class="field">
        <label for="new-tag">{say('plants.tag')}</label>
        <input {...field('tag')} list="new-tags" aria-describedby="new-tag-fault new-tag-note" />
        <TooLong id="new-tag-fault" member="tag" text={tag} />
        <TagSuggestions id="new-tags" tags={tags} />
        <span id="new-tag-note" class="note">
          {say('plants.tagNote')}
        </span>
      </div>
      {children}
      <div class="fields">
        <Button
          text={say(isBusy.value ? 'plants.adding' : 'plants.add')}
          type="submit"
          class="primary"
          aria-disabled={isBusy.value}
        />
        {onCancel !== undefined && <Button text={say('plants.cancel')} onClick={onCancel} />}
      </div>
      <Fault text={fault.value} />
    </form>
  )
}
