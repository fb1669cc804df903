import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { Button } from '../page/controls.tsx'
import { Dialog } from '../page/dialog.tsx'
import { losses } from '../page/leaving.ts'
import { Sentence } from '../page/sentence.tsx'
import { signOut } from './session.ts'

/** Signs out. Asks first if the person would lose something. */
export function SignOut({
  title,
  isQuiet = false,
}: {
  readonly title: string
  readonly isQuiet?: boolean
}): JSX.Element {
  const isAsking = useSignal(false)
  const stay = () => {
    isAsking.value = false
  }
  return (
    <>
      <Button
        text={title}
        class={isQuiet ? 'quiet' : undefined}
        onClick={() => {
          isAsking.value = losses.value.length > 0
          if (!isAsking.value) signOut()
        }}
      />
      {isAsking.value && (
        <Dialog title={say('signOut.title')} onCancel={stay}>
          <Losses />
          <div class="fields">
            <Button text={say('signOut.stay')} onClick={stay} />
            <Button text={say('signOut.lose')} class="danger" onClick={signOut} />
          </div>
        </Dialog>
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
