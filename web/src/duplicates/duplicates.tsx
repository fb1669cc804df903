import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useId, useRef } from 'preact/hooks'
import type { StoredPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { newAction } from '../offline/new-action.ts'
import { type Conflict, submitMany } from '../offline/send-many.ts'
import { Button } from '../page/controls.tsx'
import { Question } from '../page/dialog.tsx'
import { useFirst } from '../page/first-of.tsx'
import { named } from '../page/named.ts'
import { Fault } from '../page/sentence.tsx'
import { DecideTogether } from '../plants/change/decide.tsx'
import type { PlantList } from '../plants/list/plant-list.ts'
import { shownTag } from '../plants/list/shown-tag.ts'
import { Conflicts, plantsIn } from '../plants/many/done.tsx'
import { tellDone } from '../plants/many/undo-dialog.tsx'
import type { Session, ViewProps } from '../session/session.ts'
import { hide } from './not-same.ts'
import { hasSameTag, type SameName } from './same-names.ts'

interface DuplicatesProps extends ViewProps {
  readonly list: PlantList
  readonly group: SameName
  readonly mayWrite: boolean
}

/** The plants of a name that the view shows at once. It deletes none of the others. */
const PAGE = 50

/** Plants of one name, of which the person chooses the one to keep. Deleting plants with another tag asks first. */
export function Duplicates({ session, list, group, mayWrite }: DuplicatesProps): JSX.Element {
  const kept = useSignal<StoredPlant | undefined>(undefined)
  const asked = useSignal<readonly StoredPlant[] | undefined>(undefined)
  const { isWorking, isDone, isMet, fault, conflicts, action, run } = useDeletion(session, list, group)
  const [shown, more] = useFirst(group.plants, PAGE)
  return (
    <>
      <fieldset class="duplicates" disabled={isDone.value}>
        <legend>
          <bdi translate={false}>{group.name}</bdi>
        </legend>
        <Choice group={group} shown={shown} kept={kept} mayWrite={mayWrite} />
        {more}
        {!isDone.value && (
          <p class="fields">
            {mayWrite && (
              <Keep
                kept={kept.value}
                shown={shown}
                isWorking={isWorking.value}
                onDelete={(keep, plants) => {
                  if (plants.every((plant) => hasSameTag(plant, keep))) void run(keep, plants)
                  else asked.value = plants
                }}
              />
            )}
            <Button text={say('duplicates.notSame')} class="quiet" onClick={() => hide(group)} />
          </p>
        )}
        <p role="status">
          {isDone.value && kept.value !== undefined && say('duplicates.kept', { id: String(kept.value.id) })}
        </p>
        <Fault text={fault.value} />
        <Conflicts conflicts={conflicts.value} />
        {asked.value !== undefined && kept.value !== undefined && (
          <AcrossTags
            kept={kept.value}
            plants={asked.value}
            onAnswer={(isYes) => {
              const plants = asked.value
              asked.value = undefined
              if (isYes && kept.value !== undefined && plants !== undefined) void run(kept.value, plants)
            }}
          />
        )}
      </fieldset>
      {isMet.value && <DecideTogether action={action} onClose={() => (isMet.value = false)} />}
    </>
  )
}

/** Deletes the plants of a name but the one to keep. */
function useDeletion(session: Session, list: PlantList, group: SameName) {
  const isWorking = useSignal(false)
  const isDone = useSignal(false)
  const isMet = useSignal(false)
  const fault = useSignal('')
  const conflicts = useSignal<readonly Conflict[]>([])
  const action = useRef(newAction(`${say('view.duplicates')}: ${group.name}`))
  const run = async (keep: StoredPlant, plants: readonly StoredPlant[]) => {
    if (isWorking.value) return
    isWorking.value = true
    fault.value = ''
    const changes = plants.map((base) => ({ id: base.id, base, wanted: null }))
    const outcome = await submitMany(session, changes, action.current, () => {}, new AbortController().signal)
    if (outcome.done.length > 0 || outcome.waits > 0) {
      const deleted = plantsIn(outcome.done.length - outcome.gone)
      const text = say('duplicates.done', { id: String(keep.id), name: named(group.name), plants: deleted })
      tellDone(list, text, outcome)
    }
    conflicts.value = outcome.conflicts
    isMet.value = outcome.met > 0
    fault.value =
      outcome.left.length > 0 ? say('bulk.left', { plants: plantsIn(outcome.left.length), why: outcome.fault }) : ''
    isDone.value = outcome.left.length === 0
    isWorking.value = false
  }
  return { isWorking, isDone, isMet, fault, conflicts, action: action.current.action ?? '', run }
}

interface ChoiceProps {
  readonly group: SameName
  readonly shown: readonly StoredPlant[]
  readonly kept: Signal<StoredPlant | undefined>
  readonly mayWrite: boolean
}

/** Lets the person choose the plant to keep. */
function Choice({ group, shown, kept, mayWrite }: ChoiceProps): JSX.Element {
  const name = useId()
  return (
    <>
      {shown.map((plant) => (
        <label key={String(plant.id)} class="check">
          <input
            type="radio"
            disabled={!mayWrite}
            name={name}
            checked={plant.id === kept.value?.id}
            onChange={() => (kept.value = plant)}
          />
          <span class="count" translate={false}>
            {String(plant.id)}
          </span>{' '}
          {plant.name !== group.name && <bdi translate={false}>{plant.name}</bdi>}{' '}
          <bdi translate={false} class="note">
            {plant.tag}
          </bdi>
        </label>
      ))}
    </>
  )
}

interface KeepProps {
  readonly kept: StoredPlant | undefined
  readonly shown: readonly StoredPlant[]
  readonly isWorking: boolean
  readonly onDelete: (kept: StoredPlant, plants: readonly StoredPlant[]) => void
}

/** Offers to delete the others with the same tag, and all others. */
function Keep({ kept, shown, isWorking, onDelete }: KeepProps): JSX.Element {
  if (kept === undefined) return <span class="note">{say('duplicates.choose')}</span>
  const others = shown.filter(({ id }) => id !== kept.id)
  const twins = others.filter((plant) => hasSameTag(plant, kept))
  const button = (plants: readonly StoredPlant[], text: string) => (
    <Button text={text} isBusy={isWorking} onClick={() => onDelete(kept, plants)} />
  )
  const id = String(kept.id)
  return (
    <>
      {twins.length > 0 && button(twins, say('duplicates.keep', { id, plants: plantsIn(twins.length) }))}
      {twins.length < others.length &&
        button(others, say('duplicates.keepAcross', { id, plants: plantsIn(others.length) }))}
    </>
  )
}

interface AcrossProps {
  readonly kept: StoredPlant
  readonly plants: readonly StoredPlant[]
  readonly onAnswer: (isYes: boolean) => void
}

/** Asks before plants with other tags are deleted: a tag is often the place where a plant stands. */
function AcrossTags({ kept, plants, onAnswer }: AcrossProps): JSX.Element {
  const far = plants.filter((plant) => !hasSameTag(plant, kept))
  return (
    <Question
      title={say('duplicates.acrossTitle')}
      act={say('plants.deleteOf', { what: plantsIn(plants.length) })}
      isDanger
      onCancel={() => onAnswer(false)}
      onAct={() => onAnswer(true)}
    >
      <p>{say('duplicates.across', { id: String(kept.id), plants: plantsIn(far.length) })}</p>
      <ul class="samples">
        {far.map(({ id, tag }) => (
          <li key={String(id)}>
            {String(id)} <bdi translate={false}>{tag === undefined ? say('plants.noTag') : shownTag(tag)}</bdi>
          </li>
        ))}
      </ul>
    </Question>
  )
}
