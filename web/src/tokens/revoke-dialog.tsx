import type { JSX } from 'preact'
import type { Token } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Question } from '../page/dialog.tsx'

interface RevokeProps {
  readonly token: Token
  readonly isOwn: boolean
  /** Whether no other one may manage tokens. */
  readonly isOnly: boolean
  readonly onRevoke: (token: Token) => Promise<void>
  readonly onClose: () => void
}

/** Asks before a token is revoked, because nothing restores a revoked token. */
export function RevokeDialog({ token, isOwn, isOnly, onRevoke, onClose }: RevokeProps): JSX.Element {
  return (
    <Question
      title={sayWith('tokens.revokeTitle', { name: <bdi translate={false}>{token.name}</bdi> })}
      act={say('tokens.revoke')}
      isDanger
      onCancel={onClose}
      onAct={() => void onRevoke(token)}
    >
      <p>
        {say('tokens.revokeText')} {isOwn && say('tokens.revokeOwn')} {isOnly && say('tokens.revokeOnly')}
      </p>
    </Question>
  )
}
