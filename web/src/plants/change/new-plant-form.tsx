import type { ComponentChildren, JSX, RefObject } from 'preact'
import type { PlantstoreClient } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { Button, Field, submitting } from '../../page/controls.tsx'
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
  const { isBusy, fault, once } = useRequest((why) => say('page.notSaved', { why }))
  const send = () =>
    void once(async () => {
      fault.value = (await add(typedFor(label))) ?? ''
    })
  return (
    <form class="fields add" aria-label={title} onSubmit={submitting(send)}>
      {intro !== undefined && <p>{intro}</p>}
      <Field
        id="new-name"
        label={say('plants.name')}
        isWide
        place={place}
        required
        aria-describedby="new-name-fault"
        value={name}
        onText={(text) => type(label, { name: text })}
      >
        <TooLong id="new-name-fault" member="name" text={name} />
      </Field>
      <Field
        id="new-tag"
        label={say('plants.tag')}
        note={say('plants.tagNote')}
        list="new-tags"
        aria-describedby="new-tag-fault new-tag-note"
        value={tag}
        onText={(text) => type(label, { tag: text })}
      >
        <TooLong id="new-tag-fault" member="tag" text={tag} />
        <TagSuggestions id="new-tags" tags={tags} />
      </Field>
      {children}
      <div class="fields">
        <Button text={say('plants.add')} type="submit" class="primary" isBusy={isBusy.value} />
        {onCancel !== undefined && <Button text={say('plants.cancel')} onClick={onCancel} />}
      </div>
      <Fault text={fault.value} />
    </form>
  )
}
