import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { listOf, say, timeOf } from '../language/language.ts'
import { plantOf } from '../offline/attempt.ts'
import { seenOf } from '../offline/seen.ts'
import { SeenLine } from '../offline/seen-line.tsx'
import { onSent } from '../offline/waiting.ts'
import { useRepeat, whenAway } from '../page/connection.ts'
import { Button } from '../page/controls.tsx'
import { Question } from '../page/dialog.tsx'
import { Icon } from '../page/icon.tsx'
import { named } from '../page/named.ts'
import { linkTo } from '../page/route.ts'
import { isAbort, isSilence, said } from '../page/said.ts'
import { Fault, Sentence } from '../page/sentence.tsx'
import { shownGroup } from '../plants/list/shown-tag.ts'
import { plantsIn } from '../plants/many/done.tsx'
import { ReadCode } from '../scan/read-code.tsx'
import type { ViewProps } from '../session/session.ts'
import { end, isKept } from './kept-stocktake.ts'
import { PlantsFound } from './plants-found.tsx'
import { readPlants } from './read-plants.ts'
import { type Finding, MOST_EXTRA, type Stocktake, type Wanted } from './stocktake.ts'

interface CountingProps extends ViewProps {
  readonly stocktake: Stocktake
}

/** Counts: takes labels and ticks, and shows what is missing and what is too much. */
export function Counting({ session, stocktake }: CountingProps): JSX.Element {
  const { client, may } = session
  const hasCamera = useSignal(false)
  const last = useSignal<{ readonly id: bigint; readonly finding: Finding } | undefined>(undefined)
  const isEnding = useSignal(false)
  const { fault, reads, read, readOn, list } = useReads(client, stocktake)
  const find = (id: bigint) => {
    last.value = { id, finding: stocktake.find(id) }
    if (stocktake.plant(id) === undefined && last.value.finding === 'extra') void read([id])
  }
  const askToEnd = () => {
    if (stocktake.thereCount.value === 0 && stocktake.extra.value.length === 0) end()
    else isEnding.value = true
  }
  return (
    <>
      <Progress stocktake={stocktake} />
      {!isKept.value && <p role="alert">{say('stocktake.notKept')}</p>}
      <Tools hasCamera={hasCamera} hasActions={may('plants:write') && may('log')} onEnd={askToEnd} />
      <div class="counting">
        <div>
          <ReadCode onLabel={find} hasCamera={hasCamera.value} action={say('stocktake.tick')} />
          <p class="last" role="status">
            {last.value !== undefined && (
              <Sentence text={sentenceOf(last.value.finding, last.value.id, stocktake.plant(last.value.id))} />
            )}
          </p>
          <Fault text={fault.value} onRetry={readOn} />
          <SeenLine since={stocktake.seenSince} />
        </div>
        <PlantsFound
          session={session}
          stocktake={stocktake}
          list={list}
          mayWrite={may('plants:write')}
          isReading={reads.value > 0}
        />
      </div>
      {isEnding.value && (
        <Question
          title={say('stocktake.endTitle')}
          act={say('stocktake.end')}
          isDanger
          onCancel={() => (isEnding.value = false)}
          onAct={end}
        >
          <p>{say('stocktake.endNote')}</p>
        </Question>
      )}
    </>
  )
}

/** Reads the plants of a stocktake, and again those that may have changed. */
function useReads(client: PlantstoreClient, stocktake: Stocktake) {
  const fault = useSignal('')
  /** Reads under way. */
  const reads = useSignal(0)
  const ending = useRef(new AbortController())
  useEffect(() => () => ending.current.abort(), [])
  const read = async (ids: readonly bigint[]) => {
    if (ids.length === 0) return
    fault.value = ''
    reads.value += 1
    const end = whenAway(async () => {
      const seen = await seenOf(new Set(stocktake.unread))
      if (seen !== undefined) stocktake.recall(seen.plants, seen.since)
    })
    try {
      const learn = stocktake.learn.bind(stocktake)
      await readPlants(client, ids, stocktake.filters, learn, ending.current.signal)
    } catch (error) {
      const isKnown = isSilence(error) && ids.every((id) => stocktake.plant(id) !== undefined)
      if (!isAbort(error) && !isKnown) fault.value = say('page.unread', { why: said(error) })
    }
    end()
    reads.value -= 1
  }
  const readOn = () => void read(stocktake.unread)
  useEffect(readOn, [client, stocktake])
  useRepeat(fault.value === '' && stocktake.seenSince !== undefined ? readOn : undefined)
  useEffect(
    () => onSent((id, plant) => (plant === null ? stocktake.learn([], [id]) : stocktake.learn([plantOf(id, plant)]))),
    [stocktake],
  )
  // What an action on many plants, or its undo, has changed.
  const list = useMemo(
    () => ({ reload: () => read([...stocktake.extra.value, ...stocktake.ids]) }),
    [client, stocktake],
  )
  return { fault, reads, read, readOn, list }
}

function Progress({ stocktake }: { readonly stocktake: Stocktake }): JSX.Element {
  const count = stocktake.thereCount.value
  const size = stocktake.ids.length
  return (
    <>
      <p class="stocktake-set">
        <Sentence text={nameOf(stocktake.wanted)} />{' '}
        <span class="note">{say('stocktake.since', { time: timeOf(stocktake.begun, 'short') })}</span>
      </p>
      <div class="stocktake-count">
        <progress max={size} value={count} aria-label={say('stocktake.progress')} />
        <p>{say('stocktake.count', { done: count, plants: plantsIn(size) })}</p>
      </div>
    </>
  )
}

interface ToolsProps {
  readonly hasCamera: Signal<boolean>
  /** Whether the person may look at the last actions, and undo them. */
  readonly hasActions: boolean
  readonly onEnd: () => void
}

function Tools({ hasCamera, hasActions, onEnd }: ToolsProps): JSX.Element {
  return (
    <div class="toolbar">
      <button
        type="button"
        class={hasCamera.value ? undefined : 'primary'}
        aria-expanded={hasCamera.value}
        onClick={() => (hasCamera.value = !hasCamera.value)}
      >
        <Icon name="camera" /> {say(hasCamera.value ? 'stocktake.closeCamera' : 'view.scan')}
      </button>
      {hasActions && (
        <a class="button" href={linkTo('actions')}>
          {say('view.actions')}
        </a>
      )}
      <Button text={say('stocktake.end')} onClick={onEnd} />
    </div>
  )
}

/** The set of a stocktake in words. */
function nameOf({ q, tags: chosen, tagPrefix, untagged }: Wanted): string {
  const texts = tagPrefix === undefined ? chosen : [shownGroup(tagPrefix)]
  const tags = listOf(texts.map((tag) => (tag === '' ? say('plants.emptyTag') : named(tag))))
  const plants =
    untagged === true
      ? say('stocktake.untagged')
      : texts.length === 0
        ? say('stocktake.all')
        : say('stocktake.tagged', { tags })
  return q.trim() === '' ? plants : say('stocktake.matching', { plants, words: named(q.trim()) })
}

/** What the last label was. @param plant undefined while the page reads it; null: no plant has the id */
function sentenceOf(finding: Finding, id: bigint, plant: StoredPlant | null | undefined): string {
  const who = plant === null || plant === undefined ? String(id) : `${id} ${named(plant.name)}`
  switch (finding) {
    case 'there':
      return say('stocktake.isThere', { plant: who })
    case 'again':
      return say('stocktake.again', { plant: who })
    case 'extra':
    case 'extra-again':
      return plant === null ? say('stocktake.isNew', { id }) : say('stocktake.isExtra', { plant: who })
    case 'full':
      return say('stocktake.isFull', { plant: who, most: MOST_EXTRA })
  }
}
