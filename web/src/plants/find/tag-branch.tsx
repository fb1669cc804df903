import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { TagCount } from '../../../../client/src/index.ts'
import type { TagFilter as Tagging } from '../../../../src/domain/plant-query.ts'
import { numberOf, say } from '../../language/language.ts'
import { sayWith } from '../../language/say-with.ts'
import { Button, Check } from '../../page/controls.tsx'
import { ANY_TAG } from '../list/filter.ts'
import { shownTag } from '../list/shown-tag.ts'
import { plantsIn } from '../many/done.tsx'
import { isGroup, type TagEntry, type TagGroup } from './tag-tree.ts'

interface BranchProps {
  readonly entries: readonly TagEntry[]
  readonly chosen: Tagging
  readonly onChange: (chosen: Tagging) => void
  /** undefined: the token may not change plants. */
  readonly onRename: ((tag: string) => void) | undefined
  /** Whether the page opens the groups. The person may open and close each in any case. */
  readonly isOpen: boolean
  /** The plants of groups by their prefixes, where the page has not read all of their tags; undefined: not known yet. */
  readonly sums: ReadonlyMap<string, number | undefined>
}

/** The most entries of a list. Typing a part of a tag finds the others. */
export const MOST_SHOWN = 200

/** Lists tags and groups of tags with their numbers of plants. */
export function TagBranch(props: BranchProps): JSX.Element {
  const { entries } = props
  return (
    <>
      <ul>
        {entries
          .slice(0, MOST_SHOWN)
          .map((entry) =>
            isGroup(entry) ? (
              <Group key={`group ${entry.prefix}`} {...props} {...entry} />
            ) : (
              <Leaf key={`tag ${entry.tag}`} {...props} {...entry} />
            ),
          )}
      </ul>
      {entries.length > MOST_SHOWN && <p class="note">{say('page.andMore', { more: entries.length - MOST_SHOWN })}</p>}
    </>
  )
}

function Group({ prefix, plants: read, ...props }: BranchProps & TagGroup): JSX.Element {
  const { chosen, onChange, isOpen, sums } = props
  const isShown = useSignal(isOpen)
  const plants = sums.get(prefix) ?? read
  const isPart = sums.has(prefix) && sums.get(prefix) === undefined
  return (
    <li>
      <details open={isOpen} onToggle={(event) => (isShown.value = event.currentTarget.open)}>
        <summary>
          <bdi translate={false}>{prefix}</bdi>
          <span class="count">
            <span aria-hidden="true">{isPart ? `> ${numberOf(plants)}` : numberOf(plants)}</span>
            <span class="hidden">
              {isPart ? say('matches.moreThan', { plants: plantsIn(plants) }) : plantsIn(plants)}
            </span>
          </span>
        </summary>
        {isShown.value && (
          <>
            <Check
              isOn={chosen.tagPrefix === prefix}
              onChange={(isOn) => onChange(isOn ? { ...ANY_TAG, tagPrefix: prefix } : ANY_TAG)}
            >
              <span>{sayWith('tags.allOf', { group: <bdi translate={false}>{prefix}</bdi> })}</span>
            </Check>
            <TagBranch {...props} />
          </>
        )}
      </details>
    </li>
  )
}

function Leaf({ tag, plants, chosen, onChange, onRename }: BranchProps & TagCount): JSX.Element {
  return (
    <li>
      <Check
        isOn={chosen.tags.includes(tag)}
        onChange={(isOn) => {
          const others = chosen.tags.filter((each) => each !== tag)
          onChange({ ...ANY_TAG, tags: isOn ? [...others, tag] : others })
        }}
      >
        <bdi translate={false}>{shownTag(tag)}</bdi>{' '}
        <span class="count">
          <span aria-hidden="true">{numberOf(plants)}</span>
          <span class="hidden">{plantsIn(plants)}</span>
        </span>
      </Check>
      {onRename !== undefined && (
        <Button text={say('tags.rename')} class="quiet" of={shownTag(tag)} onClick={() => onRename(tag)} />
      )}
    </li>
  )
}
