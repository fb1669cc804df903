import { type Signal, useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { sayWith } from '../../language/say-with.ts'
import { isSame, type Numbered } from '../../offline/change.ts'
import { newAction } from '../../offline/new-action.ts'
import { submitMany } from '../../offline/send-many.ts'
import { connection } from '../../page/connection.ts'
import { Button, Check, Field, submitting } from '../../page/controls.tsx'
import { Dialog } from '../../page/dialog.tsx'
import { Rest } from '../../page/first-of.tsx'
import { named } from '../../page/named.ts'
import { isAbort, said } from '../../page/said.ts'
import { shownTag } from '../../plants/list/shown-tag.ts'
import type { ViewProps } from '../../session/session.ts'
import { DecideTogether } from '../change/decide.tsx'
import { TagSuggestions, TooLong, useTags } from '../change/plant-fields.tsx'
import type { Reloaded } from '../list/plant-list.ts'
import type { Targets } from '../list/selection.ts'
import { type ActionInput, type ActionKind, afterAction, isReady, NO_INPUT, TITLES, titleOf } from './actions.ts'
import { plantsIn } from './done.tsx'
import { type Read, readTargets } from './targets.ts'
import { tellDone } from './undo-dialog.tsx'
import { Work, type WorkStep } from './work.tsx'

export interface BulkProps extends ViewProps {
  readonly list: Reloaded
  readonly kind: ActionKind
  readonly targets: Targets
  /** The ids of the plants that the person sees below the dialog, where others are selected too. */
  readonly below?: ReadonlySet<bigint>
  /** The tag that an action renames. */
  readonly from?: string
  /** What the action is a part of, such as a stocktake. */
  readonly within?: string
  /** Called when the dialog closes. @param input undefined: nothing was changed */
  readonly onClose: (input: ActionInput | undefined) => void
}

type Step =
  | ({ readonly kind: 'asking' } & Read)
  /** The person decides about plants that others have changed meanwhile. */
  | { readonly kind: 'deciding' }
  | WorkStep

/** Names of plants that a preview shows. */
const SHOWN = 5

/** Asks for an action on many plants, says first how many it changes, and shows how far it is. */
export function BulkDialog(props: BulkProps): JSX.Element {
  const { kind, below } = props
  const bulk = useBulk({ ...props, onClose: useOnce(props.onClose) })
  const { step, input, action, changes, read, run, goOn, stop, close, end } = bulk
  const now = step.value
  if (now.kind === 'deciding') return <DecideTogether action={action} onClose={end} />
  return (
    <Dialog title={say(TITLES[kind])} onCancel={close}>
      {now.kind === 'asking' ? (
        <Asking
          {...props}
          plants={now.plants}
          isSeen={now.isSeen}
          changes={changes}
          input={input}
          onOnlyBelow={() => {
            step.value = { ...now, plants: now.plants.filter(({ id }) => below?.has(id)) }
          }}
          onRun={() => void run(changes)}
          onCancel={close}
        />
      ) : (
        <Work title={say(TITLES[kind])} step={now} onRetry={read} onStop={stop} onGoOn={goOn} onClose={close} />
      )}
    </Dialog>
  )
}

/** Closes a dialog once: the answer to what is under way when the person leaves it would close it again. */
function useOnce<Result>(close: (result: Result) => void): (result: Result) => void {
  const isClosed = useRef(false)
  return (result) => {
    if (!isClosed.current) close(result)
    isClosed.current = true
  }
}

/** Reads the plants of an action, and does it. */
function useBulk({ session, list, kind, targets, from, within, onClose }: BulkProps) {
  const step = useSignal<Step>({ kind: 'reading', count: 0 })
  const input = useSignal<ActionInput>(NO_INPUT)
  const ending = useRef(new AbortController())
  const isChanged = useRef(false)
  const isRepeated = useRef(false)
  const name = useRef(newAction(''))
  const isMet = useRef(false)
  const left = useRef<readonly Numbered[]>([])
  const read = () => readInto(step, session.client, targets, ending.current.signal)
  useEffect(() => {
    void read()
    return () => ending.current.abort()
  }, [])
  const changes = useComputed(() =>
    step.value.kind === 'asking' ? changesOf(kind, input.value, step.value.plants) : [],
  )
  const run = async (wanted: readonly Numbered[]) => {
    ending.current = new AbortController()
    const same = step.value.kind === 'asking' ? step.value.plants.length - wanted.length : 0
    step.value = { kind: 'working', done: 0, of: wanted.length }
    const onProgress = (done: number) => {
      step.value = { kind: 'working', done, of: wanted.length }
    }
    if (!isRepeated.current) name.current = newAction(titleOf(kind, input.value, from, within))
    const outcome = await submitMany(session, wanted, name.current, onProgress, ending.current.signal)
    // What is left may have plants that a lost request has deleted.
    const gone = isRepeated.current ? 0 : outcome.gone
    isRepeated.current = true
    const { conflicts, met, waits } = outcome
    const isAny = outcome.done.length > 0
    const done = isAny || waits === 0 ? sentenceOf(kind, input.value, outcome.done.length - gone, gone) : ''
    const result = same > 0 && isAny ? `${done}. ${say('bulk.same', { count: same })}` : done
    isChanged.current ||= isAny || waits > 0
    isMet.current ||= met > 0
    if (isAny || waits > 0) tellDone(list, result, outcome)
    left.current = outcome.left
    const isWhole = conflicts.length === 0 && outcome.left.length === 0
    const fault =
      outcome.left.length > 0 ? say('bulk.left', { plants: plantsIn(outcome.left.length), why: outcome.fault }) : ''
    if (!isWhole) step.value = { kind: 'over', result, conflicts, stayed: conflicts.length, fault }
    // The table behind a closed dialog has the new plants, their number, and the row that gets the focus.
    if (isAny) await list.reload()
    if (isWhole) close()
  }
  const close = () => {
    ending.current.abort()
    if (isMet.current) step.value = { kind: 'deciding' }
    else end()
  }
  const end = () => {
    onClose(isChanged.current ? input.value : undefined)
  }
  return {
    step,
    input,
    action: name.current.action ?? '',
    changes: changes.value,
    read: () => void read(),
    run,
    goOn: () => void run(left.current),
    stop: () => ending.current.abort(),
    close,
    end,
  }
}

async function readInto(
  step: Signal<Step>,
  client: PlantstoreClient,
  targets: Targets,
  signal: AbortSignal,
): Promise<void> {
  const onRead = (count: number) => {
    step.value = { kind: 'reading', count }
  }
  onRead(0)
  try {
    step.value = { kind: 'asking', ...(await readTargets(client, targets, onRead, signal)) }
  } catch (error) {
    if (!isAbort(error)) step.value = { kind: 'unread', fault: say('page.unread', { why: said(error) }) }
  }
}

function changesOf(kind: ActionKind, input: ActionInput, plants: readonly StoredPlant[]): readonly Numbered[] {
  if (!isReady(kind, input)) return []
  const after = afterAction(kind, input)
  return plants
    .map((base) => ({ id: base.id, base, wanted: after(base) }))
    .filter(({ base, wanted }) => !isSame(base, wanted))
}

interface AskingProps extends Read, Pick<BulkProps, 'session' | 'kind' | 'below' | 'from'> {
  readonly changes: readonly Numbered[]
  readonly input: Signal<ActionInput>
  readonly onOnlyBelow: () => void
  readonly onRun: () => void
  readonly onCancel: () => void
}

/** Asks for what an action needs, and shows what it changes. */
function Asking(props: AskingProps): JSX.Element {
  const { session, kind, below, from, plants, isSeen, changes, input, onOnlyBelow, onRun, onCancel } = props
  return (
    <form onSubmit={submitting(() => changes.length > 0 && onRun())}>
      <Question
        client={session.client}
        kind={kind}
        from={from}
        count={plants.length}
        elsewhere={below === undefined ? 0 : plants.filter(({ id }) => !below.has(id)).length}
        onOnlyBelow={onOnlyBelow}
        input={input.value}
        onInput={(part) => {
          input.value = { ...input.value, ...part }
        }}
      />
      <Preview kind={kind} plants={plants} changes={changes} isReady={isReady(kind, input.value)} />
      <p role="status" class="note">
        {isSeen && say('bulk.seenOnly')} {connection.value !== 'good' && say('bulk.waits')}
      </p>
      <div class="fields">
        <Button text={say('plants.cancel')} onClick={onCancel} />
        <Button
          text={
            changes.length === 0
              ? say(TITLES[kind])
              : kind === 'delete'
                ? say('plants.deleteOf', { what: plantsIn(changes.length) })
                : say('bulk.changePlants', { plants: plantsIn(changes.length) })
          }
          type="submit"
          class={kind === 'delete' ? 'danger' : 'primary'}
          disabled={changes.length === 0}
        />
      </div>
    </form>
  )
}

interface QuestionProps {
  readonly client: PlantstoreClient
  readonly kind: ActionKind
  readonly from: string | undefined
  readonly count: number
  /** How many of them the person does not see below. */
  readonly elsewhere: number
  readonly onOnlyBelow: () => void
  readonly input: ActionInput
  readonly onInput: (part: Partial<ActionInput>) => void
}

/** The fields of an action. */
function Question({ client, kind, from, count, elsewhere, onOnlyBelow, input, onInput }: QuestionProps): JSX.Element {
  const needsTag = kind === 'tag' || kind === 'rename-tag'
  const tag = input.tag.trim()
  const tags = useTags(needsTag ? client : undefined, tag)
  const other = kind === 'rename-tag' && tag !== from ? tags.find((each) => each.tag === tag) : undefined
  const field = (id: string, label: string, value: string, part: (text: string) => Partial<ActionInput>) => (
    <Field
      id={id}
      label={label}
      list={id === 'bulk-tag' ? 'bulk-tags' : undefined}
      value={value}
      onText={(text) => onInput(part(text))}
      aria-describedby={`${id}-fault`}
    >
      {id === 'bulk-tag' && <TooLong id="bulk-tag-fault" member="tag" text={value.trim()} />}
    </Field>
  )
  return (
    <>
      <p>
        {from === undefined
          ? say('bulk.selected', { count })
          : sayWith('bulk.haveTag', {
              count,
              tag: <bdi translate={false}>{shownTag(from)}</bdi>,
            })}
        {elsewhere > 0 && (
          <>
            {' '}
            {say('bulk.elsewhere', { count: elsewhere })} <Button text={say('bulk.onlyBelow')} onClick={onOnlyBelow} />
          </>
        )}
      </p>
      <div class="fields">
        {needsTag &&
          field('bulk-tag', say(kind === 'tag' ? 'plants.tag' : 'bulk.newTag'), input.tag, (tag) => ({ tag }))}
        {kind === 'replace' && (
          <>
            {field('bulk-find', say('bulk.find'), input.find, (find) => ({ find }))}
            {field('bulk-put', say('bulk.put'), input.put, (put) => ({ put }))}
            <Check isOn={input.isCaseIgnored} onChange={(isCaseIgnored) => onInput({ isCaseIgnored })}>
              {say('bulk.caseAlike')}
            </Check>
          </>
        )}
      </div>
      <TagSuggestions id="bulk-tags" tags={tags} />
      <p role="status" class="note">
        {other !== undefined &&
          sayWith('bulk.merges', { tag: <bdi translate={false}>{tag}</bdi>, plants: plantsIn(other.plants) })}
      </p>
    </>
  )
}

interface PreviewProps {
  readonly kind: ActionKind
  readonly plants: readonly StoredPlant[]
  readonly changes: readonly Numbered[]
  readonly isReady: boolean
}

/** Shows what an action changes: names before and after, or the first plants that it deletes. */
function Preview({ kind, plants, changes, isReady }: PreviewProps): JSX.Element | null {
  if (!isReady) return null
  const same = plants.length - changes.length
  return (
    <div role="status">
      {(kind === 'replace' || kind === 'delete') && (
        <ul class="samples">
          {changes.slice(0, SHOWN).map(({ id, base, wanted }) => (
            <li key={String(id)}>
              {wanted === null ? (
                <bdi translate={false}>{base?.name}</bdi>
              ) : (
                <>
                  <del>
                    <bdi translate={false}>{base?.name}</bdi>
                  </del>{' '}
                  <ins>
                    <bdi translate={false}>{wanted.name}</bdi>
                  </ins>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {(kind === 'replace' || kind === 'delete') && <Rest count={changes.length - SHOWN} />}
      {same > 0 && <p class="note">{say('bulk.same', { count: same })}</p>}
    </div>
  )
}

/** What an action has done, in words. @param gone plants to delete that others have deleted already */
function sentenceOf(kind: ActionKind, { tag, find, put }: ActionInput, count: number, gone: number): string {
  const plants = plantsIn(count)
  switch (kind) {
    case 'tag':
    case 'rename-tag':
      return say('bulk.tagged', { tag: named(tag.trim()), plants })
    case 'untag':
      return say('bulk.untagged', { plants })
    case 'replace':
      return put === ''
        ? say('bulk.replacedByNothing', { find: named(find), plants })
        : say('bulk.replaced', { find: named(find), put: named(put), plants })
    case 'delete':
      return gone === 0
        ? say('bulk.deleted', { plants })
        : `${say('bulk.deleted', { plants })}. ${say('bulk.gone', { count: gone })}`
  }
}
