import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { idIn } from '../plants/id.ts'
import { NotAdded } from '../plants/not-added.tsx'
import { OnePlant } from '../plants/plant-view.tsx'
import { linkTo, replaceQuery, route } from '../route.ts'
import type { ViewProps } from '../views.ts'
import { ReadCode } from './read-code.tsx'

/** Opens the plant of each label that the camera sees, or the form for it, one after the other. */
export function ScanView({ session }: ViewProps): JSX.Element {
  const id = idIn(route.value.query.get('id') ?? '')
  const open = (read: bigint) => {
    if (read !== id) replaceQuery(new URLSearchParams({ id: String(read) }))
  }
  return (
    <>
      <h1>{say('view.scan')}</h1>
      <div class="scan">
        <ReadCode onLabel={open} hasCamera action={say('scan.openId')} />
        <section aria-label={say('scan.plantOf')}>
          <NotAdded view="scan" except={id} />
          {id === null ? (
            <p class="note">
              {say('scan.note')} <a href={linkTo('stocktake')}>{say('scan.manyNote')}</a>
            </p>
          ) : (
            <>
              <div role="status">
                <h2>{say('plant.title', { id })}</h2>
              </div>
              <OnePlant key={String(id)} session={session} id={id} isScanned />
            </>
          )}
        </section>
      </div>
    </>
  )
}
