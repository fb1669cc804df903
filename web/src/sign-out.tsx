import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Dialog } from './dialog.tsx'
import { losses } from './leaving.ts'
import { Sentence } from './named.tsx'
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
      <button
        type="button"
        class={isQuiet ? 'quiet' : undefined}
        onClick={() => {
          isAsking.value = losses.value.length > 0
          if (!isAsking.value) signOut()
        }}
      >
        {title}
      </button>
      {isAsking.value && (
        <Dialog title="Sign out all the same?" onCancel={stay}>
          <Losses />
          <div class="fields">
            <button type="button" onClick={stay}>
              Stay signed in
            </button>
            <button type="button" class="primary" onClick={signOut}>
              Sign out and lose it
            </button>
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
      <p>You would lose:</p>
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
