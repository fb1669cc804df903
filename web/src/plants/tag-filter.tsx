import { useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { PlantstoreClient, TagCount } from '../../../client/src/index.ts'
import { closeOnEscape } from '../panel.ts'
import { said } from '../said.ts'

interface TagFilterProps {
  readonly client: PlantstoreClient
  readonly chosen: readonly string[]
  readonly onChange: (tags: readonly string[]) => void
}

const PAGE = 1000
/** The most tags that the list shows. Typing a part of a tag finds the others. */
const MOST_SHOWN = 200

const number = new Intl.NumberFormat()

/** Lists tags with their numbers of plants. Opening the list reads it anew. */
export function TagFilter({ client, chosen, onChange }: TagFilterProps): JSX.Element {
  const tags = useSignal<readonly TagCount[]>([])
  const next = useSignal<string | undefined>(undefined)
  const fault = useSignal('')
  const sought = useSignal('')
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
        <summary>Tags{chosen.length > 0 && ` (${chosen.length})`}</summary>
        <div class="panel">
          <label for="tag-part">Find a tag</label>
          <input
            id="tag-part"
            type="search"
            value={sought.value}
            onInput={(event) => {
              sought.value = event.currentTarget.value
            }}
          />
          {fault.value !== '' && <p role="alert">{fault.value}</p>}
          <ul>
            {found.value.slice(0, MOST_SHOWN).map(({ tag, plants }) => (
              <li key={tag}>
                <label class="check">
                  <input
                    type="checkbox"
                    checked={chosen.includes(tag)}
                    onChange={(event) => toggle(tag, event.currentTarget.checked)}
                  />
                  <bdi>{shownTag(tag)}</bdi>{' '}
                  <span class="count">
                    {number.format(plants)}
                    <span class="hidden"> plants</span>
                  </span>
                </label>
              </li>
            ))}
          </ul>
          {found.value.length > MOST_SHOWN && <p class="note">{found.value.length - MOST_SHOWN} more match.</p>}
          {next.value !== undefined && (
            <button type="button" onClick={() => void read(next.value)}>
              More tags
            </button>
          )}
          {tags.value.length === 0 && fault.value === '' && <p class="note">No plant has a tag.</p>}
        </div>
      </details>
      {chosen.map((tag) => (
        <button
          key={tag}
          type="button"
          class="chip"
          aria-label={`Remove the filter ${shownTag(tag)}`}
          onClick={() => toggle(tag, false)}
        >
          <bdi>{shownTag(tag)}</bdi> <span aria-hidden="true">×</span>
        </button>
      ))}
    </div>
  )
}

/** The empty tag is a tag too, and needs a visible text. */
const shownTag = (tag: string): string => (tag === '' ? '(empty)' : tag)
