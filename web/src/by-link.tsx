import type { JSX } from 'preact'
import { nameOf } from './actor.ts'
import { Dialog } from './dialog.tsx'
import { say } from './language/language.ts'
import { sayWith } from './language/say-with.ts'
import { losses } from './leaving.ts'
import { acceptOffer, isByLink, offered, remember, remembersAnother, type Session } from './session.ts'
import { Losses } from './sign-out.tsx'

/** Asks before a link replaces the session. */
export function LinkDialog({ own }: Session): JSX.Element | null {
  const offer = offered.value
  if (offer === undefined) return null
  const stay = () => {
    offered.value = undefined
  }
  return (
    <Dialog title={sayWith('link.title', { name: <bdi translate={false}>{nameOf(offer.own)}</bdi> })} onCancel={stay}>
      <p>
        {sayWith('link.text', {
          own: <bdi translate={false}>{nameOf(own)}</bdi>,
          name: <bdi translate={false}>{nameOf(offer.own)}</bdi>,
        })}
      </p>
      <Losses />
      <div class="fields">
        <button type="button" onClick={stay}>
          {say('signOut.stay')}
        </button>
        <button type="button" class="primary" onClick={() => void acceptOffer(offer)}>
          {say(losses.value.length === 0 ? 'link.accept' : 'link.acceptAndLose')}
        </button>
      </div>
    </Dialog>
  )
}

/** Offers once to remember the token of a link. */
export function RememberLine({ session }: { readonly session: Session }): JSX.Element | null {
  if (!isByLink.value) return null
  return (
    <p class="remember">
      <span>{say(remembersAnother() ? 'link.forgetsAndRemembers' : 'link.forgets')}</span>{' '}
      <button type="button" onClick={() => remember(session)}>
        {say('signIn.remember')}
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isByLink.value = false
        }}
      >
        {say('page.notNow')}
      </button>
    </p>
  )
}
