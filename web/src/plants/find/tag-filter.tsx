import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { PlantstoreClient, TagCount } from '../../../../client/src/index.ts'
import { compareCodePoints, type TagFilter as Tagging } from '../../../../src/domain/plant-query.ts'
import { say, sayOf } from '../../language/language.ts'
import { seenTags } from '../../offline/seen.ts'
import { whenAway } from '../../page/connection.ts'
import { Button, Check, Field } from '../../page/controls.tsx'
import { closeOnEscape } from '../../page/focus.ts'
import { useHelp, useRequest } from '../../page/request.ts'
import { Fault } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import { ANY_TAG, NO_FILTER } from '../list/filter.ts'
import type { PlantList } from '../list/plant-list.ts'
import { shownGroup, shownTag } from '../list/shown-tag.ts'
import { BulkDialog } from '../many/bulk-dialog.tsx'
import { MOST_SHOWN, TagBranch } from './tag-branch.tsx'
import { cutGroups, matching, type TagGroup, tagTree } from './tag-tree.ts'

interface TagFilterProps extends ViewProps {
  /** The table that shows renamed tags; undefined: the token may not change plants. */
  readonly list: PlantList | undefined
  readonly chosen: Tagging
  readonly onChange: (chosen: Tagging) => void
}

const PAGE = 1000
/** Milliseconds without a key before the service is asked for tags that the list has not read. */
const PAUSE = 200

/** Lists tags with their numbers of plants. Opening the list reads it anew. */
export function TagFilter({ session, list, chosen, onChange }: TagFilterProps): JSX.Element {
  const { client } = session
  const { tags, next, fault, read } = useTagList(client)
  const renamed = useSignal<string | undefined>(undefined)
  const count = chipsOf(chosen).length
  return (
    <div class="tag-filter">
      <details
        onToggle={(event) => {
          if (event.currentTarget.open) read()
        }}
        onKeyDown={closeOnEscape}
      >
        <summary>{count === 0 ? say('tags.title') : sayOf('tags.title', count)}</summary>
        <div class="panel">
          <Tags
            client={client}
            tags={tags.value ?? []}
            readTo={next.value === undefined ? undefined : tags.value?.at(-1)?.tag}
            fault={<Fault text={fault.value} onRetry={() => read()} />}
            chosen={chosen}
            onChange={onChange}
            onRename={
              list &&
              ((tag) => {
                renamed.value = tag
              })
            }
          />
          {next.value !== undefined && <Button text={say('page.showMore')} onClick={() => read(next.value)} />}
          {tags.value?.length === 0 && fault.value === '' && <p class="note">{say('tags.none')}</p>}
        </div>
      </details>
      {list !== undefined && renamed.value !== undefined && (
        <Rename
          session={session}
          list={list}
          from={renamed.value}
          chosen={chosen}
          onChange={onChange}
          onClose={(isChanged) => {
            renamed.value = undefined
            if (isChanged) read()
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

/** The tags of the store, a page after the other. */
function useTagList(client: PlantstoreClient) {
  /** undefined before the first read. */
  const tags = useSignal<readonly TagCount[] | undefined>(undefined)
  const next = useSignal<string | undefined>(undefined)
  const { fault, run } = useRequest()
  /** Shows the tags that this device has seen, until the service answers. */
  const recall = async (signal: AbortSignal) => {
    const seen = await seenTags()
    if (tags.value === undefined && !signal.aborted) tags.value = seen
  }
  const read = (at?: string) =>
    void run(async (signal) => {
      const end = whenAway(() => void recall(signal))
      const page = await client.listTags({ limit: PAGE }, { signal }).page(at).finally(end)
      if (signal.aborted) return
      tags.value = at === undefined ? page.items : [...(tags.value ?? []), ...page.items]
      next.value = page.next
    })
  return { tags, next, fault, read }
}

/** Asks the service for the tags with the words of a text behind the last one that was read. */
function useOthers(client: PlantstoreClient, text: string, readTo: string | undefined): readonly TagCount[] {
  const isAsked = text.trim() !== '' && readTo !== undefined
  const read = async (signal: AbortSignal) => client.listTags({ q: text, limit: PAGE }, { signal }).page()
  const found = useHelp(PAUSE, [client, text, readTo], isAsked ? read : undefined)
  return useMemo(
    () => (isAsked ? (found?.items ?? []).filter(({ tag }) => compareCodePoints(tag, readTo) > 0) : []),
    [found, isAsked, readTo],
  )
}

/** Asks the service, one after the other, for the plants of groups of which the list may lack tags. */
function useSums(client: PlantstoreClient, groups: readonly TagGroup[]): ReadonlyMap<string, number | undefined> {
  const sums = useSignal<ReadonlyMap<string, number | undefined>>(new Map())
  useEffect(() => {
    sums.value = new Map(groups.map(({ prefix }) => [prefix, undefined]))
    const ending = new AbortController()
    const count = async (): Promise<void> => {
      for (const { prefix } of groups.slice(0, MOST_SHOWN)) {
        const list = client.listPlants({ tagPrefix: prefix, count: true, limit: 1 }, { signal: ending.signal })
        const { total } = await list.page()
        if (ending.signal.aborted) return
        sums.value = new Map(sums.value).set(prefix, total?.plants)
      }
    }
    // Without an answer a group says that it has more than the list has read.
    count().catch(() => undefined)
    return () => ending.abort()
  }, [client, groups])
  return sums.value
}

interface TagsProps extends Pick<TagFilterProps, 'chosen' | 'onChange'> {
  readonly client: PlantstoreClient
  readonly tags: readonly TagCount[]
  /** The last tag that was read, where there are more. */
  readonly readTo: string | undefined
  readonly fault: JSX.Element
  readonly onRename: ((tag: string) => void) | undefined
}

/** Finds tags by a part of them, and chooses one, a group, or none. */
function Tags({ client, tags, readTo, fault, chosen, onChange, onRename }: TagsProps): JSX.Element {
  const sought = useSignal('')
  const others = useOthers(client, sought.value, readTo)
  const all = useMemo(() => [...tags, ...others], [tags, others])
  const tree = useMemo(() => tagTree(all), [all])
  const part = sought.value.toLocaleLowerCase()
  const isMatch = (tag: string): boolean => tag.toLocaleLowerCase().includes(part)
  const found = useMemo(() => {
    const count = all.filter(({ tag }) => isMatch(tag)).length
    return { entries: matching(tree, isMatch), isOpen: part !== '' && count <= MOST_SHOWN }
  }, [tree, part])
  const sums = useSums(
    client,
    useMemo(() => cutGroups(found.entries, readTo), [found, readTo]),
  )
  return (
    <>
      <Field
        id="tag-part"
        label={say('tags.find')}
        type="search"
        value={sought.value}
        onText={(text) => (sought.value = text)}
      />
      {fault}
      <Check
        isOn={chosen.untagged === true}
        onChange={(isOn) => onChange(isOn ? { ...ANY_TAG, untagged: true } : ANY_TAG)}
      >
        {say('tags.untagged')}
      </Check>
      <TagBranch {...found} chosen={chosen} onChange={onChange} onRename={onRename} sums={sums} />
    </>
  )
}

interface RenameProps extends Pick<TagFilterProps, 'session' | 'chosen' | 'onChange'> {
  readonly list: PlantList
  readonly from: string
  readonly onClose: (isChanged: boolean) => void
}

/** Renames a tag, also where it is chosen. */
function Rename({ session, list, from, chosen, onChange, onClose }: RenameProps): JSX.Element {
  return (
    <BulkDialog
      session={session}
      list={list}
      kind="rename-tag"
      from={from}
      targets={{ kind: 'matching', filter: { ...NO_FILTER, tags: [from] }, without: NONE }}
      onClose={(input) => {
        onClose(input !== undefined)
        if (input === undefined || !chosen.tags.includes(from)) return
        const to = input.tag.trim()
        onChange({ ...ANY_TAG, tags: [...new Set(chosen.tags.map((tag) => (tag === from ? to : tag)))] })
      }}
    />
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
