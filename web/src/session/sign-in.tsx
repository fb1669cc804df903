import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { say } from '../language/language.ts'
import { LanguageMenu } from '../language/language-menu.tsx'
import { sayWith } from '../language/say-with.ts'
import { Button, Check, Field, submitting } from '../page/controls.tsx'
import { useRequest } from '../page/request.ts'
import { Fault } from '../page/sentence.tsx'
import { SERVICE } from '../page/service.ts'
import { leaveToSignIn, provider } from './provider.ts'
import { hasPublicView, signIn, visit } from './session.ts'

export function SignIn({ why }: { readonly why: string }): JSX.Element {
  const token = useSignal('')
  const remember = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => field.current?.focus(), [])
  return (
    <main class="sign-in">
      <h1 class="brand">
        <img src={`${SERVICE}/page/icon.svg`} alt="" /> <span>Plantstore</span>
      </h1>
      <form onSubmit={submitting(() => void signIn(token.value.trim(), remember.value))}>
        <Field
          id="token"
          label={say('signIn.token')}
          place={field}
          type="password"
          required
          spellcheck={false}
          aria-describedby="token-note"
          value={token.value}
          onText={(text) => (token.value = text)}
        />
        <p id="token-note" class="note">
          {sayWith('signIn.tokenNote', { command: <code>plantstore token create</code> })}
        </p>
        <Check isOn={remember.value} onChange={(isOn) => (remember.value = isOn)}>
          {say('signIn.remember')}
        </Check>
        <p class="note">{say('signIn.rememberNote')}</p>
        <Fault text={why} />
        <Button text={say('signIn.submit')} type="submit" class="primary" />
      </form>
      {provider !== undefined && <WithProvider name={provider.name} />}
      {hasPublicView && <Button text={say('signIn.without')} class="quiet" onClick={() => void visit()} />}
      <LanguageMenu />
    </main>
  )
}

function WithProvider({ name }: { readonly name: string }): JSX.Element {
  const { isBusy, fault, once } = useRequest()
  return (
    <section class="provider" aria-label={say('signIn.provider')}>
      <Button
        text={say('signIn.with', { name })}
        aria-disabled={isBusy.value}
        onClick={() => void once(leaveToSignIn)}
      />
      <Fault text={fault.value} />
    </section>
  )
}
