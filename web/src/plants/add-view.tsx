import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import type { ViewProps } from '../views.ts'
import { AddPlant } from './add-plant.tsx'

/** The view of plants for a token that may add plants but not read them. */
export function AddView({ session }: ViewProps): JSX.Element {
  return (
    <>
      <h1>{say('plants.addTitle')}</h1>
      <AddPlant client={session.client} list={undefined} />
    </>
  )
}
