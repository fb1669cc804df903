import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { Button } from '../page/controls.tsx'
import { useFirst } from '../page/first-of.tsx'
import { useRequest } from '../page/request.ts'
import { linkTo } from '../page/route.ts'
import { Fault } from '../page/sentence.tsx'
import { PlantList } from '../plants/list/plant-list.ts'
import { plantsIn } from '../plants/many/done.tsx'
import type { ViewProps } from '../session/session.ts'
import { Duplicates } from './duplicates.tsx'
import { isHidden, showAll } from './not-same.ts'
import { MOST_COMPARED, readSameNames, type SameName, type SameNames } from './same-names.ts'

/** The names that the view lists at once. */
const PAGE = 100
const NONE: SameNames = { twins: [], others: [], isCut: false }

/** Shows plants with the same name side by side, for a person who keeps one of them. */
export function DuplicatesView({ session }: ViewProps): JSX.Element {
  const { client, may } = session
  const found = useSignal<SameNames | undefined>(undefined)
  const count = useSignal(0)
  const { isBusy, fault, run } = useRequest((why) => say('page.unread', { why }))
  const list = useMemo(() => new PlantList(client), [client])
  const { twins, others, isCut } = found.value ?? NONE
  const seen = [...twins, ...others].filter((group) => !isHidden(group))
  const [shown, more, restart] = useFirst(seen, PAGE)
  const search = () =>
    void run(async (signal) => {
      found.value = undefined
      count.value = 0
      restart()
      const onRead = (read: number) => {
        count.value = read
      }
      found.value = await readSameNames(client, onRead, signal)
    })
  useEffect(search, [client])
  const hidden = twins.length + others.length - seen.length
  const section = (title: PlainKey, groups: readonly SameName[]) => (
    <Section title={say(title)} groups={groups.filter((group) => shown.includes(group))}>
      {(group) => (
        <Duplicates key={group.key} session={session} list={list} group={group} mayWrite={may('plants:write')} />
      )}
    </Section>
  )
  return (
    <>
      <h1>{say('view.duplicates')}</h1>
      <p class="note">
        {say('duplicates.note')} <a href={linkTo('plants')}>{say('plant.back')}</a>
      </p>
      <p role="status">
        {isBusy.value && `${say('plant.reading')} ${say('page.soFar', { plants: plantsIn(count.value) })}`}
        {found.value !== undefined && twins.length + others.length === 0 && say('duplicates.none')}
        {isCut && say('duplicates.cut', { plants: plantsIn(MOST_COMPARED) })}
      </p>
      <Fault text={fault.value} onRetry={search} />
      {section('duplicates.twins', twins)}
      {section('duplicates.others', others)}
      {more}
      {hidden > 0 && <Hidden count={hidden} />}
      {found.value !== undefined && <Button text={say('duplicates.again')} onClick={search} />}
    </>
  )
}

interface SectionProps {
  readonly title: string
  readonly groups: readonly SameName[]
  readonly children: (group: SameName) => JSX.Element
}

function Section({ title, groups, children }: SectionProps): JSX.Element | null {
  if (groups.length === 0) return null
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {groups.map(children)}
    </section>
  )
}

function Hidden({ count }: { readonly count: number }): JSX.Element {
  return (
    <p class="note">
      {say('duplicates.hidden', { count })} <Button text={say('duplicates.show')} class="quiet" onClick={showAll} />
    </p>
  )
}
