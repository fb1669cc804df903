import type { JSX } from 'preact'
import type { Token } from '../../../client/src/index.ts'
import { Dialog } from '../dialog.tsx'

interface RevokeProps {
  readonly token: Token
  readonly isOwn: boolean
  readonly onRevoke: (token: Token) => Promise<void>
  readonly onClose: () => void
}

/** Asks before a token is revoked, because nothing restores a revoked token. */
export function RevokeDialog({ token, isOwn, onRevoke, onClose }: RevokeProps): JSX.Element {
  return (
    <Dialog
      title={
        <>
          Revoke <bdi>{token.name}</bdi>?
        </>
      }
      onCancel={onClose}
    >
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
    </Dialog>
  )
}
