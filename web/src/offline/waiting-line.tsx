import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { linkTo } from '../page/route.ts'
import { session } from '../session/session.ts'
import { isHeld } from './change.ts'
import { isKept, strange, waiting } from './waiting.ts'

/** Says how many changes wait, in every view. */
export function WaitingLine(): JSX.Element {
  const { value: mine } = waiting
  const count = mine.length + strange.value.length
  const held = mine.filter(isHeld).length
  const leadsOn = count > 0 && session.value.kind === 'signed-in'
  return (
    <section
      class={held > 0 || !isKept.value ? 'waiting-line urgent' : 'waiting-line'}
      aria-label={leadsOn ? say('waiting.title') : undefined}
    >
      <p role="status">
        {count > 0 && say(leadsOn ? 'waiting.count' : 'waiting.signedOut', { count })}
        {held > 0 && ` ${say('waiting.held', { count: held })}`}
        {!isKept.value && ` ${say('waiting.noRoom')}`}
      </p>
      {leadsOn && <a href={linkTo('waiting')}>{say('waiting.show')}</a>}
    </section>
  )
}
