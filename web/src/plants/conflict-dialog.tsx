import type { JSX } from 'preact'
import type { KeptPlant, StoredPlant } from '../../../client/src/index.ts'
import { Dialog } from '../dialog.tsx'
import type { PlantChanges } from './changes.ts'
import { changeDraft, type Draft, wanted } from './drafts.ts'
import { focusEditor, focusRow } from './grid-keys.ts'

interface ConflictProps {
  readonly draft: Draft
  /** null: the plant was deleted. */
  readonly theirs: KeptPlant | null
  readonly changes: PlantChanges
}

/** Shows the stored plant and the draft to the person who saves second, and lets them choose. */
export function ConflictDialog({ draft, theirs, changes }: ConflictProps): JSX.Element {
  const id = String(draft.base.id)
  const goOn = (base: StoredPlant) => {
    changeDraft(base.id, { theirs: undefined, base })
    focusEditor(id)
  }
  return (
    <Dialog
      title={theirs === null ? `Somebody has deleted ${id} meanwhile` : `Somebody has changed ${id} meanwhile`}
      onCancel={() => goOn(draft.base)}
    >
      <div class="versions">
        {theirs !== null && <Version title="Stored now" plant={theirs.plant} base={draft.base} />}
        <Version title="Yours" plant={wanted(draft)} base={draft.base} />
      </div>
      <div class="fields">
        <button
          type="button"
          onClick={() => {
            changes.yield(draft, theirs)
            focusRow(id)
          }}
        >
          {theirs === null ? 'Leave it deleted' : 'Keep the stored plant'}
        </button>
        <button
          type="button"
          class="primary"
          onClick={async () => {
            changeDraft(draft.base.id, { theirs: undefined })
            if (await changes.overwrite(draft, theirs)) focusRow(id)
          }}
        >
          {theirs === null ? 'Add mine again' : 'Save mine'}
        </button>
        {theirs !== null && (
          <button type="button" onClick={() => goOn(theirs.plant)}>
            Go on editing
          </button>
        )}
      </div>
    </Dialog>
  )
}

interface VersionProps {
  readonly title: string
  readonly plant: StoredPlant
  readonly base: StoredPlant
}

function Version({ title, plant, base }: VersionProps): JSX.Element {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl>
        <Member title="Name" text={plant.name} before={base.name} />
        <Member title="Tag" text={plant.tag} before={base.tag} />
      </dl>
    </section>
  )
}

interface MemberProps {
  readonly title: string
  readonly text: string | undefined
  readonly before: string | undefined
}

function Member({ title, text, before }: MemberProps): JSX.Element {
  const Mark = text === before ? 'span' : 'mark'
  return (
    <div>
      <dt>{title}</dt>
      <dd dir="auto">{text === undefined ? <em>no tag</em> : <Mark>{text}</Mark>}</dd>
    </div>
  )
}
