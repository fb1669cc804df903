import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { signIn } from './session.ts'

export function SignIn({ why }: { readonly why: string }): JSX.Element {
  const token = useSignal('')
  const remember = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => field.current?.focus(), [])
  return (
    <main class="sign-in">
      <h1>Plantstore</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void signIn(token.value.trim(), remember.value)
        }}
      >
        <label for="token">Access token</label>
        <input
          id="token"
          ref={field}
          type="password"
          required
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-describedby="token-note"
          value={token.value}
          onInput={(event) => {
            token.value = event.currentTarget.value
          }}
        />
        <p id="token-note" class="note">
          The service shows a token at its first start. The operator creates others with{' '}
          <code>plantstore token create</code>.
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={remember.value}
            onChange={(event) => {
              remember.value = event.currentTarget.checked
            }}
          />
          Remember on this device
        </label>
        <p class="note">Without this, the token is forgotten when you close the tab.</p>
        {why !== '' && <p role="alert">{why}</p>}
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </main>
  )
}
