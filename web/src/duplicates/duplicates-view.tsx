import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { linkTo } from '../page/route.ts'
import { isAbort, said } from '../page/said.ts'
import { Fault } from '../page/sentence.tsx'
import { plantsIn } from '../plants/bulk/done.tsx'
import { PlantList } from '../plants/plant-list.ts'
import type { ViewProps } from '../session/session.ts'
import { Duplicates } from './duplicates.tsx'
import { isHidden, showAll } from './not-same.ts'
import { MOST_COMPARED, readSameNames, type SameName, type SameNames } from './same-names.ts'

/** The names that the view lists at once. */
const PAGE = 100
const NONE: SameNames = { twins: [], others: [], isCut: false }

/** Shows plants with the same name side by side, for a person who keeps one of them. */
export function DuplicatesView({ session: { client, may } }: ViewProps): JSX.Element {
  const found = useSignal(NONE)
  const read = useSignal<number | undefined>(0)
  const most = useSignal(PAGE)
  const fault = useSignal('')
  const tries = useSignal(0)
  const list = useMemo(() => new PlantList(client), [client])
  useEffect(() => {
    const ending = new AbortController()
    const search = async () => {
      found.value = NONE
      read.value = 0
      most.value = PAGE
      fault.value = ''
      try {
        const onRead = (count: number) => {
          read.value = count
        }
        found.value = await readSameNames(client, onRead, ending.signal)
      } catch (error) {
        if (isAbort(error) || ending.signal.aborted) return
        fault.value = say('labels.notAll', { why: said(error) })
      }
      read.value = undefined
    }
    void search()
    return () => ending.abort()
  }, [client, tries.value])
  const again = () => {
    tries.value += 1
  }
  const { isCut } = found.value
  const all = [...found.value.twins, ...found.value.others]
  const shown = all.filter((group) => !isHidden(group)).slice(0, most.value)
  const left = all.filter((group) => !isHidden(group)).length - shown.length
  const hidden = all.length - shown.length - left
  const section = (title: PlainKey, groups: readonly SameName[]) => {
    const here = groups.filter((group) => shown.includes(group))
    if (here.length === 0) return null
    return (
      <section aria-label={say(title)}>
        <h2>{say(title)}</h2>
        {here.map((group) => (
          <Duplicates key={group.key} client={client} list={list} group={group} mayWrite={may('plants:write')} />
        ))}
      </section>
    )
  }
  return (
    <>
      <h1>{say('duplicates.title')}</h1>
      <p class="note">
        {say('duplicates.note')} <a href={linkTo('plants')}>{say('duplicates.back')}</a>
      </p>
      <p role="status">
        {read.value !== undefined && say('duplicates.reading', { plants: plantsIn(read.value) })}
        {read.value === undefined && all.length === 0 && fault.value === '' && say('duplicates.none')}
        {isCut && say('duplicates.cut', { plants: plantsIn(MOST_COMPARED) })}
      </p>
      <Fault text={fault.value} onRetry={again} />
      {section('duplicates.twins', found.value.twins)}
      {section('duplicates.others', found.value.others)}
      {left > 0 && (
        <button
          type="button"
          onClick={() => {
            most.value += PAGE
          }}
        >
          {say('duplicates.moreNames', { count: left })}
        </button>
      )}
      {hidden > 0 && (
        <p class="note">
          {say('duplicates.hidden', { count: hidden })}{' '}
          <button type="button" class="quiet" onClick={showAll}>
            {say('duplicates.show')}
          </button>
        </p>
      )}
      {read.value === undefined && fault.value === '' && (
        <button type="button" onClick={again}>
          {say('duplicates.again')}
        </button>
      )}
    </>
  )
}
