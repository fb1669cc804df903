import { useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { PlantstoreClient, TagCount } from '../../../client/src/index.ts'
import type { TagFilter as Tagging } from '../../../src/domain/plant-query.ts'
import { say } from '../language/language.ts'
import { closeOnEscape } from '../page/focus.ts'
import { said } from '../page/said.ts'
import { Fault } from '../page/sentence.tsx'
import { BulkDialog } from './bulk/bulk-dialog.tsx'
import { ANY_TAG, NO_FILTER } from './filter.ts'
import type { PlantList } from './plant-list.ts'
import { MOST_SHOWN, TagBranch } from './tag-branch.tsx'
import { shownGroup, shownTag } from './tag-chip.tsx'
import { matching, tagTree } from './tag-tree.ts'

interface TagFilterProps {
  readonly client: PlantstoreClient
  /** The table that shows renamed tags; undefined: the token may not change plants. */
  readonly list: PlantList | undefined
  readonly chosen: Tagging
  readonly onChange: (chosen: Tagging) => void
}

const PAGE = 1000

/** Lists tags with their numbers of plants. Opening the list reads it anew. */
export function TagFilter({ client, list, chosen, onChange }: TagFilterProps): JSX.Element {
  const tags = useSignal<readonly TagCount[]>([])
  const hasRead = useSignal(false)
  const next = useSignal<string | undefined>(undefined)
  const fault = useSignal('')
  const sought = useSignal('')
  const renamed = useSignal<string | undefined>(undefined)
  const reading = useRef(0)
  const tree = useComputed(() => tagTree(tags.value))
  const found = useComputed(() => {
    const part = sought.value.toLocaleLowerCase()
    const isMatch = (tag: string): boolean => tag.toLocaleLowerCase().includes(part)
    const count = tags.value.filter(({ tag }) => isMatch(tag)).length
    return { entries: matching(tree.value, isMatch), isOpen: part !== '' && count <= MOST_SHOWN }
  })
  const read = async (at?: string): Promise<void> => {
    reading.current += 1
    const turn = reading.current
    fault.value = ''
    try {
      const page = await client.listTags({ limit: PAGE }).page(at)
      if (turn !== reading.current) return
      tags.value = at === undefined ? page.items : [...tags.value, ...page.items]
      hasRead.value = true
      next.value = page.next
    } catch (error) {
      fault.value = said(error)
    }
  }
  const count = chipsOf(chosen).length
  return (
    <div class="tag-filter">
      <details
        onToggle={(event) => {
          if (event.currentTarget.open) void read()
        }}
        onKeyDown={closeOnEscape}
      >
        <summary>{count === 0 ? say('tags.title') : say('tags.titleChosen', { count })}</summary>
        <div class="panel">
          <label for="tag-part">{say('tags.find')}</label>
          <input
            id="tag-part"
            type="search"
            value={sought.value}
            onInput={(event) => {
              sought.value = event.currentTarget.value
            }}
          />
          <Fault text={fault.value} onRetry={() => void read()} />
          <label class="check">
            <input
              type="checkbox"
              checked={chosen.untagged === true}
              onChange={(event) => onChange(event.currentTarget.checked ? { ...ANY_TAG, untagged: true } : ANY_TAG)}
            />
            {say('tags.untagged')}
          </label>
          <TagBranch
            {...found.value}
            chosen={chosen}
            onChange={onChange}
            onRename={
              list &&
              ((tag) => {
                renamed.value = tag
              })
            }
            readTo={next.value === undefined ? undefined : tags.value.at(-1)?.tag}
          />
          {next.value !== undefined && (
            <button type="button" onClick={() => void read(next.value)}>
              {say('tags.more')}
            </button>
          )}
          {hasRead.value && tags.value.length === 0 && fault.value === '' && <p class="note">{say('tags.none')}</p>}
        </div>
      </details>
      {list !== undefined && renamed.value !== undefined && (
        <BulkDialog
          client={client}
          list={list}
          kind="rename-tag"
          from={renamed.value}
          targets={{ kind: 'matching', filter: { ...NO_FILTER, tags: [renamed.value] }, without: NONE }}
          onClose={(input) => {
            const from = renamed.value
            renamed.value = undefined
            if (input === undefined) return
            void read()
            const to = input.tag.trim()
            if (chosen.tags.some((tag) => tag === from)) {
              onChange({ ...ANY_TAG, tags: [...new Set(chosen.tags.map((tag) => (tag === from ? to : tag)))] })
            }
          }}
        />
      )}
      {chipsOf(chosen).map(({ text, without }) => (
        <button
          key={text}
          type="button"
          class="chip"
          aria-label={say('tags.removeFilter', { tag: text })}
          onClick={() => onChange(without)}
        >
          <bdi translate={chosen.untagged === true}>{text}</bdi> <span aria-hidden="true">×</span>
        </button>
      ))}
    </div>
  )
}

const NONE: ReadonlySet<bigint> = new Set()

interface Chip {
  readonly text: string
  /** What remains when the person removes it. */
  readonly without: Tagging
}

function chipsOf({ tags, tagPrefix, untagged }: Tagging): readonly Chip[] {
  if (untagged === true) return [{ text: say('tags.untagged'), without: ANY_TAG }]
  if (tagPrefix !== undefined) return [{ text: shownGroup(tagPrefix), without: ANY_TAG }]
  return tags.map((tag) => ({
    text: shownTag(tag),
    without: { ...ANY_TAG, tags: tags.filter((each) => each !== tag) },
  }))
}
