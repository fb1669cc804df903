import type { StoredPlant } from '../../../../client/src/index.ts'

/** The change of one plant. An absent `after` deletes it, an absent `before` adds it. */
export interface Change {
  readonly before: StoredPlant | undefined
  readonly after: StoredPlant | undefined
}

export const reversed = ({ before, after }: Change): Change => ({ before: after, after: before })
