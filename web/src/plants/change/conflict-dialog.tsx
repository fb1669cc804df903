import type { JSX } from 'preact'
import type { KeptPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import type { PlainKey } from '../../language/texts.ts'
import type { Change, Content } from '../../offline/change.ts'
import { Dialog } from '../../page/dialog.tsx'

interface ConflictProps {
  readonly id: bigint
  /** What the person wants, of what they have seen. */
  readonly change: Pick<Change, 'base' | 'wanted'>
  /** null: the plant was deleted. */
  readonly theirs: KeptPlant | null
  /** What the person can do instead of saving theirs over the stored plant. */
  readonly act?: PlainKey
  readonly onYield: () => void
  readonly onOverwrite: () => void
  /** What loses nothing, which has the focus first: whoever presses Enter once more has not read the question. */
  readonly later: PlainKey
  readonly onLater: () => void
  readonly onCancel: () => void
}

/** Shows the stored plant and the change to the person who saves second, and lets them choose. */
export function ConflictDialog({ id, change, theirs, act, later, ...on }: ConflictProps): JSX.Element {
  const { base, wanted } = change
  return (
    <Dialog title={say(titleOf(change, theirs), { id })} onCancel={on.onCancel}>
      <div class="versions">
        {theirs !== null && <Version title={say('plants.storedNow')} plant={theirs.plant} base={base} />}
        <Version title={say('plants.yours')} plant={wanted} base={base} />
      </div>
      <div class="fields">
        <button type="button" onClick={on.onLater}>
          {say(later)}
        </button>
        <button type="button" onClick={on.onYield}>
          {say(theirs === null ? 'plants.leaveDeleted' : 'plants.keepStored')}
        </button>
        <button type="button" class="primary" onClick={on.onOverwrite}>
          {say(act ?? actOf(wanted, theirs))}
        </button>
      </div>
    </Dialog>
  )
}

function titleOf({ base }: Pick<Change, 'base'>, theirs: KeptPlant | null) {
  if (theirs === null) return 'plants.conflictDeleted'
  return base === null ? 'waiting.conflictTaken' : 'plants.conflictChanged'
}

function actOf(wanted: Content | null, theirs: KeptPlant | null): PlainKey {
  if (wanted === null) return 'waiting.deleteMine'
  return theirs === null ? 'plants.addMine' : 'plants.saveMine'
}

interface VersionProps {
  readonly title: string
  /** null: deleted. */
  readonly plant: Content | null
  readonly base: Content | null
}

function Version({ title, plant, base }: VersionProps): JSX.Element {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {plant === null ? (
        <p>{say('waiting.toDelete')}</p>
      ) : (
        <dl>
          <Member title={say('plants.name')} text={plant.name} before={base?.name} />
          <Member title={say('plants.tag')} text={plant.tag} before={base?.tag} />
        </dl>
      )}
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
