import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Button } from '../page/controls.tsx'
import { Question } from '../page/dialog.tsx'
import { route } from '../page/route.ts'
import { nameOf } from './actor.ts'
import { acceptOffer, byLink, leaveForLater, offered, remember, remembersAnother, type Session } from './session.ts'
import { Losses } from './sign-out.tsx'

/** Asks before a link replaces the session. */
export function LinkDialog({ own }: Session): JSX.Element | null {
  const offer = offered.value
  if (offer === undefined) return null
  return (
    <Question
      title={sayWith('link.title', { name: <bdi translate={false}>{nameOf(offer.own)}</bdi> })}
      act={say('link.accept')}
      onCancel={() => (offered.value = undefined)}
      onAct={() => void acceptOffer(offer)}
    >
      <p>
        {sayWith('link.text', {
          own: <bdi translate={false}>{nameOf(own)}</bdi>,
          name: <bdi translate={false}>{nameOf(offer.own)}</bdi>,
        })}
      </p>
      <Losses />
    </Question>
  )
}

/** Asks once whether the device remembers the token of a link. Who goes on to another view has answered: not now. */
export function RememberQuestion({ session }: { readonly session: Session }): JSX.Element | null {
  const { view } = route.value
  const askedAt = useRef(view)
  useEffect(() => {
    if (view !== askedAt.current) leaveForLater()
    askedAt.current = view
  }, [view])
  if (byLink.value !== 'asked') return null
  return (
    <p class="notice remember">
      <span>{say(remembersAnother() ? 'link.forgetsAndRemembers' : 'link.forgets')}</span>{' '}
      <RememberButton session={session} />
      <Button text={say('page.notNow')} class="quiet" onClick={leaveForLater} />
    </p>
  )
}

/** Remembers the token of a link, as long as the device does not. */
export function RememberButton({ session }: { readonly session: Session }): JSX.Element | null {
  if (byLink.value === undefined) return null
  return <Button text={say('signIn.remember')} onClick={() => remember(session)} />
}
