import { useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { PlantstoreClient, TagCount } from '../../../client/src/index.ts'
import { numberOf, say } from '../language/language.ts'
import { closeOnEscape } from '../panel.ts'
import { said } from '../said.ts'
import { Fault } from '../sentence.tsx'
import { BulkDialog } from './bulk/bulk-dialog.tsx'
import type { PlantList } from './plant-list.ts'

interface TagFilterProps {
  readonly client: PlantstoreClient
  /** The table that shows renamed tags; undefined: the token may not change plants. */
  readonly list: PlantList | undefined
  readonly chosen: readonly string[]
  readonly onChange: (tags: readonly string[]) => void
}

const PAGE = 1000
/** The most tags that the list shows. Typing a part of a tag finds the others. */
const MOST_SHOWN = 200

/** Lists tags with their numbers of plants. Opening the list reads it anew. */
export function TagFilter({ client, list, chosen, onChange }: TagFilterProps): JSX.Element {
  const tags = useSignal<readonly TagCount[]>([])
  const next = useSignal<string | undefined>(undefined)
  const fault = useSignal('')
  const sought = useSignal('')
  const renamed = useSignal<string | undefined>(undefined)
  const reading = useRef(0)
  const found = useComputed(() => {
    const part = sought.value.toLocaleLowerCase()
    return tags.value.filter(({ tag }) => tag.toLocaleLowerCase().includes(part))
  })
  const read = async (at?: string): Promise<void> => {
    reading.current += 1
    const turn = reading.current
    fault.value = ''
    try {
      const page = await client.listTags({ limit: PAGE }).page(at)
      if (turn !== reading.current) return
      tags.value = at === undefined ? page.items : [...tags.value, ...page.items]
      next.value = page.next
    } catch (error) {
      fault.value = said(error)
    }
  }
  const toggle = (tag: string, isOn: boolean) =>
    onChange(isOn ? [...chosen, tag] : chosen.filter((each) => each !== tag))
  return (
    <div class="tag-filter">
      <details
        onToggle={(event) => {
          if (event.currentTarget.open) void read()
        }}
        onKeyDown={closeOnEscape}
      >
        <summary>{chosen.length === 0 ? say('tags.title') : say('tags.titleChosen', { count: chosen.length })}</summary>
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
          <ul>
            {found.value.slice(0, MOST_SHOWN).map(({ tag, plants }) => (
              <li key={tag}>
                <label class="check">
                  <input
                    type="checkbox"
                    checked={chosen.includes(tag)}
                    onChange={(event) => toggle(tag, event.currentTarget.checked)}
                  />
                  <bdi translate={false}>{shownTag(tag)}</bdi>{' '}
                  <span class="count">
                    <span aria-hidden="true">{numberOf(plants)}</span>
                    <span class="hidden">{say('plants.count', { count: plants })}</span>
                  </span>
                </label>
                {list !== undefined && (
                  <button
                    type="button"
                    class="quiet"
                    aria-label={say('tags.renameOf', { tag: shownTag(tag) })}
                    onClick={() => {
                      renamed.value = tag
                    }}
                  >
                    {say('tags.rename')}
                  </button>
                )}
              </li>
            ))}
          </ul>
          {found.value.length > MOST_SHOWN && (
            <p class="note">{say('tags.moreMatch', { more: found.value.length - MOST_SHOWN })}</p>
          )}
          {next.value !== undefined && (
            <button type="button" onClick={() => void read(next.value)}>
              {say('tags.more')}
            </button>
          )}
          {tags.value.length === 0 && fault.value === '' && <p class="note">{say('tags.none')}</p>}
        </div>
      </details>
      {list !== undefined && renamed.value !== undefined && (
        <BulkDialog
          client={client}
          list={list}
          kind="rename-tag"
          from={renamed.value}
          targets={{ kind: 'matching', filter: { q: '', tags: [renamed.value], sort: 'id' }, without: NONE }}
          onClose={(input) => {
            const from = renamed.value
            renamed.value = undefined
            if (input === undefined) return
            void read()
            const to = input.tag.trim()
            if (chosen.some((tag) => tag === from)) {
              onChange([...new Set(chosen.map((tag) => (tag === from ? to : tag)))])
            }
          }}
        />
      )}
      {chosen.map((tag) => (
        <button
          key={tag}
          type="button"
          class="chip"
          aria-label={say('tags.removeFilter', { tag: shownTag(tag) })}
          onClick={() => toggle(tag, false)}
        >
          <bdi translate={false}>{shownTag(tag)}</bdi> <span aria-hidden="true">×</span>
        </button>
      ))}
    </div>
  )
}

const NONE: ReadonlySet<bigint> = new Set()

/** The empty tag is a tag too, and needs a visible text. */
const shownTag = (tag: string): string => (tag === '' ? say('plants.emptyTag') : tag)
