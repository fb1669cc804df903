import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { words as wordsOf } from '../../../src/domain/plant-query.ts'
import { numberOf, say } from '../language/language.ts'
import { plantOf } from '../offline/attempt.ts'
import { waitingFor } from '../offline/waiting.ts'
import { Button, Check } from '../page/controls.tsx'
import { useFirst } from '../page/first-of.tsx'
import { Further } from '../page/further.tsx'
import { linkTo, queryOf } from '../page/route.ts'
import { saveFile } from '../page/save-file.ts'
import { type Pitfalls, pitfallsIn, spreadsheet } from '../page/spreadsheet.ts'
import { SearchField } from '../plants/find/search-field.tsx'
import type { Reloaded } from '../plants/list/plant-list.ts'
import { BulkDialog } from '../plants/many/bulk-dialog.tsx'
import { Warning } from '../plants/many/export-plants.tsx'
import type { ViewProps } from '../session/session.ts'
import { readPlants } from './read-plants.ts'
import type { Stocktake } from './stocktake.ts'

/** Which plants a list shows. */
type FoundKind = 'missing' | 'there' | 'extra'

interface FoundProps extends ViewProps {
  readonly stocktake: Stocktake
  readonly list: Reloaded
  readonly mayWrite: boolean
  /** Whether the names of some plants are still on their way. */
  readonly isReading: boolean
}

const KINDS: readonly FoundKind[] = ['missing', 'there', 'extra']
const TITLES = { missing: 'stocktake.missing', there: 'stocktake.there', extra: 'stocktake.extra' } as const
const NONE = { missing: 'stocktake.noMissing', there: 'stocktake.noThere', extra: 'stocktake.noExtra' } as const
/** Rows that a list shows at first, and with each further step. */
const STEP = 200

/** Lists what is missing, what is there and what is too much, to tick off, to retag and to export. */
export function PlantsFound({ session, stocktake, list, mayWrite, isReading }: FoundProps): JSX.Element {
  const kind = useSignal<FoundKind>('missing')
  const sought = useSignal('')
  const asked = useSignal<Asked>(undefined)
  const pitfalls = useSignal<Pitfalls | undefined>(undefined)
  const ids = idsOf(stocktake, kind.value)
  const words = wordsOf(sought.value).join(' ')
  const found = words === '' ? ids : ids.filter((id) => textOf(id, stocktake.plant(id)).includes(words))
  const [shown, more, restart] = useFirst(found, STEP)
  const exportAll = () => {
    const rows = rowsOf(stocktake)
    pitfalls.value = pitfallsIn(rows)
    saveFile(spreadsheet([['id', 'name', 'tag', 'stocktake'], ...rows]), `${say('stocktake.file')}.csv`)
  }
  return (
    <section aria-label={say('stocktake.plants')}>
      <Kinds kind={kind} onChoose={restart} stocktake={stocktake} />
      <div class="toolbar">
        <SearchField
          id="stocktake-find"
          title={say('stocktake.find')}
          q={sought.value}
          onSearch={(text) => {
            sought.value = text
            restart()
          }}
        />
        <Further label={say('bulk.further')}>
          {mayWrite && ids.length > 0 && <Actions asked={asked} />}
          <Button text={say('stocktake.export')} aria-disabled={isReading} onClick={() => !isReading && exportAll()} />
        </Further>
      </div>
      {pitfalls.value !== undefined && (
        <p role="status" class="note">
          <Warning {...pitfalls.value} />
        </p>
      )}
      <ul class="rows stock">
        {shown.map((id) => (
          <FoundPlant key={String(id)} id={id} kind={kind.value} stocktake={stocktake} />
        ))}
      </ul>
      <p role="status" class="note">
        {ids.length === 0 && say(NONE[kind.value])}
        {ids.length > 0 && found.length === 0 && say('stocktake.noMatch')}
        {isReading && ` ${say('plant.reading')}`}
      </p>
      {more}
      {asked.value !== undefined && (
        <BulkDialog
          session={session}
          list={list}
          kind={asked.value}
          within={say('view.stocktake')}
          targets={{ kind: 'read', ids: found, read: (...how) => readAll(session.client, stocktake, found, ...how) }}
          onClose={(input) => {
            if (input !== undefined && asked.value === 'tag') stocktake.hasSet(input.tag.trim())
            asked.value = undefined
          }}
        />
      )}
    </section>
  )
}

/** Reads plants anew, for an action on all of them. @param onRead called with the number of plants so far */
async function readAll(
  client: PlantstoreClient,
  stocktake: Stocktake,
  ids: readonly bigint[],
  onRead: (count: number) => void,
  signal: AbortSignal,
): Promise<readonly StoredPlant[]> {
  const plants: StoredPlant[] = []
  const take = (part: readonly StoredPlant[], absent: readonly bigint[]) => {
    stocktake.learn(part, absent)
    plants.push(...part)
    onRead(plants.length)
  }
  await readPlants(client, ids, stocktake.filters, take, signal)
  return plants
}

/** The rows of a spreadsheet: each plant with the list that it is in. */
const rowsOf = (stocktake: Stocktake) =>
  KINDS.flatMap((kind) =>
    idsOf(stocktake, kind).map((id) => {
      const plant = stocktake.plant(id)
      return [String(id), plant?.name, plant?.tag, say(TITLES[kind])]
    }),
  )

interface KindsProps {
  readonly kind: Signal<FoundKind>
  readonly onChoose: () => void
  readonly stocktake: Stocktake
}

/** Lets the person choose a list, and counts its plants. */
function Kinds({ kind, onChoose, stocktake }: KindsProps): JSX.Element {
  const counts: Readonly<Record<FoundKind, number>> = {
    missing: stocktake.ids.length - stocktake.thereCount.value,
    there: stocktake.thereCount.value,
    extra: stocktake.extra.value.length,
  }
  return (
    <fieldset class="segments">
      <legend class="hidden">{say('stocktake.show')}</legend>
      {KINDS.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="stocktake-kind"
            checked={kind.value === each}
            onChange={() => {
              kind.value = each
              onChoose()
            }}
          />
          <span>
            {say(TITLES[each])} <b>{numberOf(counts[each])}</b>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

type Asked = 'tag' | 'untag' | undefined

function Actions({ asked }: { readonly asked: Signal<Asked> }): JSX.Element {
  const ask = (action: Asked) => () => {
    asked.value = action
  }
  return (
    <>
      <Button text={say('bulk.tag')} onClick={ask('tag')} />
      <Button text={say('bulk.untag')} onClick={ask('untag')} />
    </>
  )
}

interface RowProps {
  readonly id: bigint
  readonly kind: FoundKind
  readonly stocktake: Stocktake
}

function FoundPlant({ id, kind, stocktake }: RowProps): JSX.Element {
  const waits = waitingFor(id)?.wanted
  const plant = waits ? plantOf(id, waits) : stocktake.plant(id)
  const texts = (
    <span class="texts">
      {plant === null ? (
        <span class="note">{kind === 'extra' ? say('stocktake.isNew', { id }) : say('history.deleted')}</span>
      ) : (
        <bdi translate={false}>{plant?.name.slice(0, 200) ?? ' '}</bdi>
      )}
      <span class="note">
        {String(id)} <bdi translate={false}>{plant?.tag}</bdi>
      </span>
    </span>
  )
  return (
    <li>
      {kind === 'extra' ? (
        <>
          {texts}
          <a href={linkTo('plant', queryOf(id))}>{say(plant === null ? 'stocktake.enter' : 'scan.openId')}</a>
          <Button text={say('stocktake.leaveOut')} class="quiet" of={id} onClick={() => stocktake.leaveOut(id)} />
        </>
      ) : (
        <Check isOn={kind === 'there'} onChange={(isThere) => stocktake.tick(id, isThere)}>
          {texts}
        </Check>
      )}
    </li>
  )
}

function idsOf(stocktake: Stocktake, kind: FoundKind): readonly bigint[] {
  return kind === 'extra' ? stocktake.extra.value : stocktake.ofSet(kind === 'there')
}

/** What a person may type to find a plant in a list. */
const textOf = (id: bigint, plant: StoredPlant | null | undefined): string =>
  wordsOf(`${id} ${plant?.name ?? ''} ${plant?.tag ?? ''}`).join(' ')
