import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { linkTo } from '../page/route.ts'
import { isVisitor, session } from '../session/session.ts'
import { isHeld } from './change.ts'
import { isKept, strange, waiting, watched } from './waiting.ts'

/** Says how many changes wait, in every view. One whose answer a person awaits does not. */
export function WaitingLine(): JSX.Element {
  const mine = waiting.value.filter(({ key }) => !watched.value.has(key))
  const count = mine.length + strange.value.length
  const { value: current } = session
  const leadsOn = count > 0 && current.kind === 'signed-in' && !isVisitor(current)
  // Nobody else sends what another token has made, or what is for another store.
  const held = leadsOn ? mine.filter(isHeld).length + strange.value.length : 0
  return (
    <section
      class={held > 0 || !isKept.value ? 'waiting-line urgent' : 'waiting-line'}
      aria-label={leadsOn ? say('waiting.title') : undefined}
    >
      <p role="status">
        {count > 0 && say('waiting.count', { count })}
        {held > 0 && ` ${say('waiting.held', { count: held })}`}
        {!isKept.value && ` ${say('waiting.noRoom')}`}
      </p>
      {leadsOn && <a href={linkTo('waiting')}>{say('waiting.show')}</a>}
    </section>
  )
}
