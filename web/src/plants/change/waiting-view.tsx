import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { say } from '../../language/language.ts'
import type { Waiting } from '../../offline/change.ts'
import { dropMany, edited, endEdit, hasRead, ownerOf, strange, takeOver, waiting } from '../../offline/waiting.ts'
import { Button } from '../../page/controls.tsx'
import { focusMain } from '../../page/focus.ts'
import { named } from '../../page/named.ts'
import { Sentence } from '../../page/sentence.tsx'
import { nameOf } from '../../session/actor.ts'
import type { ViewProps } from '../../session/session.ts'
import { ChangeText, WaitingChange } from './waiting-change.tsx'

/** Lists the changes that wait, to see, change and drop each. */
export function WaitingView({ session }: ViewProps): JSX.Element {
  const { value: mine } = waiting
  useEffect(() => endEdit, [])
  return (
    <>
      <h1>{say('waiting.title')}</h1>
      {hasRead.value && mine.length === 0 && strange.value.length === 0 && <p>{say('waiting.none')}</p>}
      {mine.length > 0 && (
        <>
          <p class="note">{say('waiting.note')}</p>
          <ol class="plain waiting">
            {together(mine).map(({ key, changes }) => (
              <WaitingChange
                key={key}
                changes={changes}
                isEdited={edited.value !== undefined && edited.value === changes[0]?.key}
                onEdit={(isEdited) => {
                  endEdit()
                  if (isEdited) edited.value = changes[0]?.key
                }}
              />
            ))}
          </ol>
        </>
      )}
      {groupsOf(strange.value).map((changes) => (
        <Strange key={changes[0]?.key} session={session} changes={changes} />
      ))}
    </>
  )
}

/** Changes by their owners. */
const groupsOf = (changes: readonly Waiting[]): readonly (readonly Waiting[])[] => [
  ...Map.groupBy(changes, ({ owner: { token, store = '' } }) => `${token} ${store}`).values(),
]

/** Changes by what the person has done together. */
const together = (changes: readonly Waiting[]) =>
  Array.from(
    Map.groupBy(changes, ({ key, action }) => action?.action ?? key),
    ([key, changes]) => ({ key, changes }),
  )

interface StrangeProps extends ViewProps {
  /** Those of one owner. */
  readonly changes: readonly Waiting[]
}

/** Offers to send what another token has made, or what is for another store. It never goes out by itself. */
function Strange({ session, changes }: StrangeProps): JSX.Element | null {
  const [first] = changes
  if (first === undefined) return null
  const mine = ownerOf(session)
  const count = changes.length
  const isOfOther = first.owner.token !== mine.token
  const name = named(nameOf({ id: first.owner.token, name: first.owner.name }))
  const run = (work: Promise<void>) => void work.then(focusMain)
  return (
    <section class="strange">
      <p>
        <Sentence text={isOfOther ? say('waiting.others', { count, name }) : say('waiting.otherStore', { count })} />
      </p>
      <ol class="plain waiting">
        {together(changes).map((each) => (
          <li key={each.key}>
            <ChangeText changes={each.changes} />
          </li>
        ))}
      </ol>
      <p class="fields">
        <Button
          text={say(isOfOther ? 'waiting.takeOver' : 'waiting.toThisStore')}
          onClick={() => run(takeOver(changes, mine))}
        />
        <Button
          text={say('waiting.drop')}
          class="danger"
          onClick={() => run(dropMany(changes.map(({ key }) => key)))}
        />
      </p>
    </section>
  )
}
