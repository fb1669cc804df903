import type { JSX } from 'preact'
import { Dialog } from './dialog.tsx'
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
    <Dialog
      title={
        <>
          Sign in as <bdi>{offer.own.name}</bdi> instead?
        </>
      }
      onCancel={stay}
    >
      <p>
        You are signed in as <bdi>{own.name}</bdi>. The link that you opened would sign you in with another token,{' '}
        <bdi>{offer.own.name}</bdi>.
      </p>
      <Losses />
      <div class="fields">
        <button type="button" onClick={stay}>
          Stay signed in
        </button>
        <button type="button" class="primary" onClick={() => void acceptOffer(offer)}>
          {losses.value.length === 0 ? 'Sign in with the link' : 'Sign in with the link and lose it'}
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
      <span>
        This device forgets the token when you close the tab{remembersAnother() && ', and remembers another one'}.
      </span>{' '}
      <button type="button" onClick={() => remember(session)}>
        Remember on this device
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isByLink.value = false
        }}
      >
        Not now
      </button>
    </p>
  )
}
