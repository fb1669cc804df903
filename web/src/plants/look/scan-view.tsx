import type { JSX } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { idIn } from '../../codes/typed-code.ts'
import { say } from '../../language/language.ts'
import { focusMain } from '../../page/focus.ts'
import { linkTo, queryOf, replaceQuery, route } from '../../page/route.ts'
import { ReadCode } from '../../scan/read-code.tsx'
import type { ViewProps } from '../../session/session.ts'
import { NotAdded } from '../change/enter-plant.tsx'
import { OnePlant } from './plant-view.tsx'

/** Opens the plant of each label that the camera sees, or the form for it, one after the other. */
export function ScanView({ session }: ViewProps): JSX.Element {
  const id = idIn(route.value.query.get('id') ?? '')
  const open = (read: bigint) => {
    if (read !== id) replaceQuery(queryOf(read))
  }
  // The link to this view keeps the focus otherwise, and the name of a new plant would not get it.
  useLayoutEffect(focusMain, [])
  return (
    <>
      <h1>{say('view.scan')}</h1>
      <div class="scan">
        <ReadCode onLabel={open} hasCamera action={say('scan.openId')} />
        <section aria-label={say('scan.plantOf')}>
          <NotAdded view="scan" except={id} />
          {id === null ? (
            <p class="note">
              {say('scan.note')} {session.may('more') && <a href={linkTo('stocktake')}>{say('scan.manyNote')}</a>}
            </p>
          ) : (
            <>
              <p class="hidden" role="status">
                {say('plant.title', { id })}
              </p>
              <OnePlant key={String(id)} session={session} id={id} isScanned />
            </>
          )}
        </section>
      </div>
    </>
  )
}
