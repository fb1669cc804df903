import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { hasTagging } from '../../../../src/domain/plant-query.ts'
import { say } from '../../language/language.ts'
import { Icon } from '../../page/icon.tsx'
import { linkTo } from '../../page/route.ts'
import type { Session } from '../../session/session.ts'
import { entered, isTyped } from '../change/new-plant.ts'
import { SavedSearches } from '../find/saved-searches-panel.tsx'
import { SearchField } from '../find/search-field.tsx'
import { TagFilter } from '../find/tag-filter.tsx'
import { TagOffer } from '../find/tag-offer.tsx'
import { type Filter, isAll, queryFor } from '../list/filter.ts'
import type { PlantList } from '../list/plant-list.ts'
import { queryForLabels } from '../many/chosen-labels.ts'
import { ExportPlants } from '../many/export-plants.tsx'

interface ToolsProps {
  readonly session: Session
  readonly list: PlantList
  readonly filter: Filter
  readonly onChange: (part: Partial<Filter>) => void
  readonly mayWrite: boolean
  /** Whether the person is no visitor of the public view, who looks and finds. */
  readonly mayReadMore: boolean
  /** Whether this device keeps a stocktake that has begun. */
  readonly isCounting: boolean
}

interface ToolbarProps extends ToolsProps {
  /** Whether the store is empty, so that there is nothing to work on. */
  readonly isBeginning: boolean
  /** Whether the form for a new plant is open. */
  readonly isAdding: Signal<boolean>
}

/** Finds plants, adds one, and leads to what can be done with those found. */
export function Toolbar({ isBeginning, isAdding, ...tools }: ToolbarProps): JSX.Element {
  const { session, filter, onChange, mayWrite } = tools
  /** On a narrow window; a wide one shows the tools in any case. */
  const isFolded = useSignal(true)
  return (
    <search class="toolbar">
      <SearchField id="search" q={filter.q} onSearch={(q) => onChange({ q })}>
        <a href={linkTo('scan')} aria-label={say('view.scan')}>
          <Icon name="camera" />
        </a>
      </SearchField>
      {!hasTagging(filter) && (
        <TagOffer client={session.client} q={filter.q} onChoose={(tag) => onChange({ q: '', tags: [tag] })} />
      )}
      {mayWrite && <AddSwitch isAdding={isAdding} />}
      {mayWrite && session.may('log') && (
        <a class="button" href={linkTo('actions')}>
          <Icon name="undo" /> <span class="word">{say('view.actions')}</span>
        </a>
      )}
      {!isBeginning && (
        <button
          type="button"
          class="tool-switch"
          aria-expanded={!isFolded.value}
          aria-controls="tools"
          onClick={() => (isFolded.value = !isFolded.value)}
        >
          <Icon name="tools" /> <span class="word">{say('plants.tools')}</span>
        </button>
      )}
      <div id="tools" class={isFolded.value ? 'tools folded' : 'tools'}>
        {!isBeginning && <Tools {...tools} />}
      </div>
    </search>
  )
}

/** Opens the form for a new plant, and counts those that are typed and not added. */
function AddSwitch({ isAdding }: Pick<ToolbarProps, 'isAdding'>): JSX.Element {
  const notAdded = entered.value.length + (isTyped() && !isAdding.value ? 1 : 0)
  return (
    <button
      type="button"
      class="primary"
      aria-expanded={isAdding.value}
      onClick={() => (isAdding.value = !isAdding.value)}
    >
      <Icon name="add" />{' '}
      <span class="word">
        {say('plants.addTitle')}
        {notAdded > 0 && ` (${say('plants.notAddedCount', { count: notAdded })})`}
      </span>
      {notAdded > 0 && (
        <span class="badge" aria-hidden="true">
          {notAdded}
        </span>
      )}
    </button>
  )
}

function Tools({ session, list, filter, onChange, mayWrite, mayReadMore, isCounting }: ToolsProps): JSX.Element {
  const tags = <TagFilter session={session} list={mayWrite ? list : undefined} chosen={filter} onChange={onChange} />
  if (!mayReadMore) return tags
  return (
    <>
      {tags}
      <SavedSearches filter={filter} onChoose={onChange} />
      <ExportPlants client={session.client} filter={filter} />
      <a class="button" href={linkTo('labels', isAll(filter) ? undefined : queryForLabels(filter))}>
        {say('plants.printLabels')}
      </a>
      <a class="button" href={linkTo('stocktake', queryFor({ ...filter, sort: 'id' }))}>
        {say(isCounting ? 'stocktake.goOn' : 'stocktake.these')}
      </a>
      <a class="button" href={linkTo('duplicates')}>
        {say('view.duplicates')}
      </a>
    </>
  )
}
