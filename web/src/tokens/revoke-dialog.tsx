import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Token } from '../../../client/src/index.ts'

interface RevokeProps {
  readonly token: Token
  readonly isOwn: boolean
  readonly onRevoke: (token: Token) => Promise<void>
  readonly onClose: () => void
}

/** Nothing brings a revoked token back, so the page asks first. */
export function RevokeDialog({ token, isOwn, onRevoke, onClose }: RevokeProps): JSX.Element {
  const place = useRef<HTMLDialogElement>(null)
  useEffect(() => place.current?.showModal(), [])
  return (
    <dialog
      ref={place}
      aria-labelledby="revoke-title"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <h2 id="revoke-title">
        Revoke <bdi>{token.name}</bdi>?
      </h2>
      <p>
        Programs that use it stop working within a second, and it cannot be brought back.
        {isOwn && ' It is the token you are signed in with.'}
      </p>
      <div class="fields">
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="primary" onClick={() => void onRevoke(token)}>
          Revoke it
        </button>
      </div>
    </dialog>
  )
}
