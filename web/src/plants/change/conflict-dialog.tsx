import { Fragment, type JSX } from 'preact'
import type { KeptPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import type { PlainKey } from '../../language/texts.ts'
import type { Change, Content } from '../../offline/change.ts'
import { Button } from '../../page/controls.tsx'
import { Dialog } from '../../page/dialog.tsx'

/** A change of a plant of which the store has another state. */
export interface Met extends Pick<Change, 'base' | 'wanted'> {
  readonly id: bigint
  /** null: the plant was deleted. */
  readonly theirs: KeptPlant | null
}

interface ConflictProps {
  /** One change, or those that the person decides about together. */
  readonly changes: readonly Met[]
  /** What the person can do instead of saving theirs over the stored plant. */
  readonly act?: PlainKey | undefined
  readonly onYield: () => void
  readonly onOverwrite: () => void
  /** What loses nothing, which has the focus first: whoever presses Enter once more has not read the question. */
  readonly later: PlainKey
  readonly onLater: () => void
  readonly onCancel: () => void
}

/** Shows the stored plants and the changes to the person who saves second, and lets them choose. */
export function ConflictDialog({ changes, act, later, ...on }: ConflictProps): JSX.Element {
  return (
    <Dialog title={titleOf(changes)} onCancel={on.onCancel}>
      <Versions changes={changes} />
      <div class="fields">
        <Button text={say(later)} onClick={on.onLater} />
        <Button text={keepOf(changes)} onClick={on.onYield} />
        <Button text={act === undefined ? actOf(changes) : say(act)} class="primary" onClick={on.onOverwrite} />
      </div>
    </Dialog>
  )
}

function Versions({ changes }: Pick<ConflictProps, 'changes'>): JSX.Element {
  const versions = changes.map(({ id, base, wanted, theirs }) => (
    <Fragment key={String(id)}>
      {changes.length > 1 && <p class="note">{String(id)}</p>}
      <div class="versions">
        {theirs !== null && <Version title={say('plants.storedNow')} plant={theirs.plant} base={base} />}
        <Version title={say('plants.yours')} plant={wanted} base={base} />
      </div>
    </Fragment>
  ))
  // So many that a keyboard has to scroll them.
  return changes.length > 1 ? (
    <section class="met" tabIndex={0} aria-label={titleOf(changes)}>
      {versions}
    </section>
  ) : (
    <Fragment>{versions}</Fragment>
  )
}

/** Says what others have done to the plants. */
export function titleOf([first, ...others]: readonly Met[]): string {
  if (first === undefined || others.length > 0) return say('plants.conflictMany', { count: others.length + 1 })
  const { id, base, theirs } = first
  if (theirs === null) return say('plants.conflictDeleted', { id })
  return say(base === null ? 'waiting.conflictTaken' : 'plants.conflictChanged', { id })
}

const isGone = (changes: readonly Met[]): boolean => changes.length === 1 && changes[0]?.theirs === null

const keepOf = (changes: readonly Met[]): string =>
  isGone(changes) ? say('plants.leaveDeleted') : say('plants.keepStored', { count: changes.length })

function actOf(changes: readonly Met[]): string {
  if (changes[0]?.wanted === null) return say('waiting.deleteMine', { count: changes.length })
  return isGone(changes) ? say('plants.addMine') : say('plants.saveMine', { count: changes.length })
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
        <p>{say('waiting.markDeleted')}</p>
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
