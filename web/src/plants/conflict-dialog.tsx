import type { JSX } from 'preact'
import type { KeptPlant, StoredPlant } from '../../../client/src/index.ts'
import { Dialog } from '../dialog.tsx'
import { say } from '../language/language.ts'
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
      title={say(theirs === null ? 'plants.conflictDeleted' : 'plants.conflictChanged', { id })}
      onCancel={() => goOn(draft.base)}
    >
      <div class="versions">
        {theirs !== null && <Version title={say('plants.storedNow')} plant={theirs.plant} base={draft.base} />}
        <Version title={say('plants.yours')} plant={wanted(draft)} base={draft.base} />
      </div>
      <div class="fields">
        <button
          type="button"
          onClick={() => {
            changes.yield(draft, theirs)
            focusRow(id)
          }}
        >
          {say(theirs === null ? 'plants.leaveDeleted' : 'plants.keepStored')}
        </button>
        <button
          type="button"
          class="primary"
          onClick={async () => {
            changeDraft(draft.base.id, { theirs: undefined })
            if (await changes.overwrite(draft, theirs)) focusRow(id)
          }}
        >
          {say(theirs === null ? 'plants.addMine' : 'plants.saveMine')}
        </button>
        {theirs !== null && (
          <button type="button" onClick={() => goOn(theirs.plant)}>
            {say('plants.goOnEditing')}
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
        <Member title={say('plants.name')} text={plant.name} before={base.name} />
        <Member title={say('plants.tag')} text={plant.tag} before={base.tag} />
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
      <dd dir="auto" translate={text === undefined}>
        {text === undefined ? <em>{say('plants.noTag')}</em> : <Mark>{text}</Mark>}
      </dd>
    </div>
  )
}
