import type { JSX } from 'preact'
import { say } from '../../language/language.ts'
import { drafts } from '../list/drafts.ts'
import type { PlantList } from '../list/plant-list.ts'
import type { PlantChanges } from './changes.ts'
import { RowEditor } from './row-editor.tsx'

interface UnfinishedProps {
  readonly list: PlantList
  readonly changes: PlantChanges
}

/** Shows the edits of plants that the present filter leaves out, so that typed texts stay in sight. */
export function Unfinished({ list, changes }: UnfinishedProps): JSX.Element | null {
  const others = [...drafts.value.values()].filter(({ base }) => !list.has(base.id))
  if (others.length === 0) return null
  return (
    <div role="grid" class="plants unfinished" aria-label={say('plants.unfinished')}>
      {others.map((draft) => (
        <div key={String(draft.base.id)} role="row" class="row editing">
          <RowEditor draft={draft} changes={changes} />
        </div>
      ))}
    </div>
  )
}
