import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { Button } from '../page/controls.tsx'
import { Question } from '../page/dialog.tsx'
import { losses } from '../page/leaving.ts'
import { Sentence } from '../page/sentence.tsx'
import { signOut } from './session.ts'

/** Signs out. Asks first if the person would lose something. */
export function SignOut({ title }: { readonly title: string }): JSX.Element {
  const isAsking = useSignal(false)
  return (
    <>
      <Button
        text={title}
        onClick={() => {
          isAsking.value = losses.value.length > 0
          if (!isAsking.value) signOut()
        }}
      />
      {isAsking.value && (
        <Question
          title={say('signOut.title')}
          act={say('signOut.submit')}
          isDanger
          onCancel={() => (isAsking.value = false)}
          onAct={signOut}
        >
          <Losses />
        </Question>
      )}
    </>
  )
}

/** Lists what the person would lose with their session. */
export function Losses(): JSX.Element | null {
  if (losses.value.length === 0) return null
  return (
    <>
      <p>{say('leaving.losses')}</p>
      <ul>
        {losses.value.map((loss) => (
          <li key={loss}>
            <Sentence text={loss} />
          </li>
        ))}
      </ul>
    </>
  )
}
