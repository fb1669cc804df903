import type { JSX } from 'preact'
import type { ViewProps } from '../views.ts'
import { AddPlant } from './add-plant.tsx'

/** What a token sees that may add plants and not read them. */
export function AddView({ session }: ViewProps): JSX.Element {
  return (
    <>
      <h1>Add a plant</h1>
      <AddPlant client={session.client} list={undefined} />
    </>
  )
}
