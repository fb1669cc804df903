import type { JSX } from 'preact'
import { say } from '../../language/language.ts'
import type { Content, Waiting } from '../../offline/change.ts'
import { keep, renumber, waiting } from '../../offline/waiting.ts'
import { named } from '../../page/named.ts'
import { tell } from '../../page/notices.tsx'
import { said } from '../../page/said.ts'
import { ConflictDialog } from './conflict-dialog.tsx'

interface DecideProps {
  /** Changes that wait, one or those of one action. */
  readonly changes: readonly Waiting[]
  /** Called once no change needs a decision, or the person puts it off. */
  readonly onClose: () => void
}

/** Plants that the person decides about at once: those that a person can look at. */
const AT_ONCE = 50

/** Lets the person decide about those changes of an action. */
export const DecideTogether = ({ action, onClose }: Pick<DecideProps, 'onClose'> & { readonly action: string }) => (
  <Decide changes={waiting.value.filter((each) => each.action?.action === action)} onClose={onClose} />
)

/** Lets the person decide about changes of plants that others have changed meanwhile. */
export function Decide({ changes, onClose }: DecideProps): JSX.Element | null {
  const all = metIn(changes)
  const shown = all.slice(0, AT_ONCE)
  const [first] = shown
  if (first === undefined) return null
  const decided = () => {
    if (all.length === shown.length) onClose()
  }
  return (
    <ConflictDialog
      key={first.key}
      changes={shown}
      act={first.isOwnId ? undefined : 'waiting.addAnother'}
      onYield={() => {
        takeBack(shown, (change) => ({ base: theirsOf(change), wanted: theirsOf(change) }), true)
        decided()
      }}
      onOverwrite={() => {
        if (first.isOwnId) changeTo(shown, (change) => ({ base: theirsOf(change) }), true)
        else void renumber(first.key)
        decided()
      }}
      later="page.notNow"
      onLater={onClose}
      onCancel={onClose}
    />
  )
}

/** Those of which the store has another state than the person saw. */
export const metIn = (changes: readonly Waiting[]) =>
  changes.flatMap((each) =>
    each.id !== undefined && each.met !== undefined ? [{ ...each, id: each.id, theirs: each.met.theirs }] : [],
  )

const theirsOf = ({ met }: Waiting): Content | null => met?.theirs?.plant ?? null

type Next = (change: Waiting) => Partial<Pick<Waiting, 'base' | 'wanted'>>

/** Changes what waits. @param isDecided whether the person has seen what the store has */
export function changeTo(changes: readonly Waiting[], next: Next, isDecided = false): void {
  const [first] = changes
  if (first === undefined) return
  const { owner, action } = first
  // The person has seen the change, so a further one begins at what it wants.
  const further = new Map(
    changes.map((change) => {
      const { key, id, wanted } = change
      return [key, { id, base: wanted, wanted, ...next(change) }]
    }),
  )
  void keep(further, { owner, action, isDecided }).catch((error: unknown) => tell(said(error), { isError: true }))
}

/** Drops changes, which the person can take back. */
export function takeBack(changes: readonly Waiting[], next: Next, isDecided = false): void {
  const run = () => changeTo(changes, ({ base }) => ({ base }))
  tell(say('waiting.dropped', { plant: textOf(changes) }), { action: { label: say('plants.undo'), run } })
  changeTo(changes, next, isDecided)
}

/** What changes are of: a plant, or the title of their action. */
export function textOf([first, ...others]: readonly Waiting[]): string {
  if (first === undefined) return ''
  const { id, base, wanted, action } = first
  if (others.length > 0) return action?.actionTitle ?? ''
  return [...(id === undefined ? [] : [id]), named((wanted ?? base)?.name ?? '')].join(' ')
}
