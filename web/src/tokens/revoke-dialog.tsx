import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Token } from '../../../client/src/index.ts'

interface RevokeProps {
  readonly token: Token
  readonly isOwn: boolean
  readonly onRevoke: (token: Token) => Promise<void>
  readonly onClose: () => void
}

/** Asks before a token is revoked, because nothing restores a revoked token. */
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
        Programs that use this token lose access within a second. A revoked token cannot be restored.
        {isOwn && ' You are signed in with this token.'}
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
