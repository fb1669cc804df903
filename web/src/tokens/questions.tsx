import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Token } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Choice } from '../page/controls.tsx'
import { Question } from '../page/dialog.tsx'

/** Seconds, and how the page says them. */
const OVERLAPS = [
  [0, 'tokens.overlapNone'],
  [3600, 'tokens.overlapHour'],
  [86_400, 'tokens.overlapDay'],
  [604_800, 'tokens.overlapWeek'],
] as const

interface QuestionProps {
  readonly token: Token
  readonly isOwn: boolean
  readonly onClose: () => void
}

interface RotateProps extends QuestionProps {
  readonly onRotate: (token: Token, overlapSeconds: number) => Promise<void>
}

/** Asks how long the old secret works on. */
export function RotateDialog({ token, isOwn, onRotate, onClose }: RotateProps): JSX.Element {
  const overlap = useSignal(86_400)
  // The end of the own token signs the person out, and the page forgets the new secret with the session.
  const overlaps = OVERLAPS.filter(([seconds]) => seconds > 0 || !isOwn)
  return (
    <Question
      title={sayWith('tokens.rotateTitle', { name: <bdi translate={false}>{token.name}</bdi> })}
      act={say('tokens.newSecret')}
      onCancel={onClose}
      onAct={() => void onRotate(token, overlap.value)}
    >
      <p>
        {say('tokens.rotateText')} {isOwn && say('tokens.rotateOwn')}
      </p>
      <Choice
        id="overlap"
        label={say('tokens.overlap')}
        value={overlap.value}
        options={overlaps.map(([seconds, text]) => [seconds, say(text)])}
        onChoose={(seconds) => (overlap.value = seconds)}
      />
    </Question>
  )
}

interface RevokeProps extends QuestionProps {
  /** Whether no other one may manage tokens. */
  readonly isOnly: boolean
  readonly onRevoke: (token: Token) => Promise<void>
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
