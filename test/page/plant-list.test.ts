import assert from 'node:assert/strict'
import { before, mock, suite, test } from 'node:test'
import fc from 'fast-check'
import type * as Client from '../../client/src/index.ts'
import { loadParts } from '../support/page-parts.ts'
import { holds } from '../support/property.ts'
import { wholeFile } from '../support/whole-file.ts'

/** A plant as tests of a list need it. */
interface Plant {
  readonly id: bigint
  readonly name: string
}

/** The list of the page, as it is used without the page. */
interface PlantList {
  show(filter: object): void
  refresh(): Promise<void>
  follow(entries: readonly object[]): void
  replace(plant: Plant): void
  remove(id: bigint): void
  putBack(plant: Plant): Promise<void>
  open(id: bigint, signal: AbortSignal): Promise<unknown>
  stop(): void
  readonly plants: { readonly value: readonly Plant[] }
}

interface Parts {
  readonly PlantList: new (client: object) => PlantList
  readonly NO_FILTER: object
  readonly PlantstoreError: typeof Client.PlantstoreError
}

const PARTS = {
  'web/src/plants/list/plant-list.ts': 'PlantList',
  'web/src/plants/list/filter.ts': 'NO_FILTER',
  'client/src/index.ts': 'PlantstoreError',
}

interface Write {
  readonly kind: 'save' | 'delete' | 'bring back' | 'other saves' | 'other deletes'
  readonly id: bigint
}

/**
 * What happens next: somebody writes, the service reads for a request, an answer, an entry of the log or a pause arrives,
 * or a stream of entries begins, after which the page reads again.
 */
type Step =
  | Write
  | { readonly kind: 'read' | 'answer'; readonly at: number }
  | { readonly kind: 'entry' | 'pause' | 'stream' }

const FOREVER = new AbortController().signal
const IDS = [1n, 2n] as const
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('save', 'delete', 'bring back', 'other saves', 'other deletes'),
    id: fc.constantFrom(...IDS),
  }),
  fc.record({ kind: fc.constantFrom('read', 'answer'), at: fc.nat(2) }),
  fc.record({ kind: fc.constantFrom('entry', 'pause', 'stream') }),
)

/** A request of the list, which the service reads for at one time and answers at another one. */
interface Asked {
  answer: (() => void) | undefined
  readonly read: () => void
  /** The plants that the person has written since the service read them. */
  readonly written: Set<bigint>
}

/** A service, the network to a list of its plants, and the person in front of it. */
class World {
  readonly stored = new Map<bigint, Plant>(IDS.map((id) => [id, { id, name: `first ${id}` }]))
  readonly list: PlantList
  readonly #parts: Parts
  readonly #asked: Asked[] = []
  readonly #entries: object[] = []
  readonly #deleted = new Map<bigint, Plant>()
  readonly #restored = new Set<bigint>()
  #hasStream = false
  #version = 0

  constructor(parts: Parts) {
    this.#parts = parts
    this.list = new parts.PlantList({
      listPlants: () => ({ page: () => this.#ask(() => ({ items: [...this.stored.values()], next: undefined })) }),
      getPlant: (id: bigint) => this.#ask(() => ({ plant: this.stored.get(id) ?? this.#refuse() })),
    })
  }

  get shown(): ReadonlyMap<bigint, string> {
    return new Map(this.list.plants.value.map(({ id, name }) => [id, name]))
  }

  async take(step: Step): Promise<void> {
    const { shown } = this
    if ('id' in step) this.#write(step)
    else if (step.kind === 'read') this.#nth(step.at)?.read()
    else if (step.kind === 'answer') await this.#answer(this.#nth(step.at))
    else if (step.kind === 'entry') this.list.follow(this.#entries.splice(0, 1))
    else if (step.kind === 'pause') mock.timers.tick(500)
    else this.#beginStream()
    await new Promise(setImmediate)
    for (const id of 'id' in step ? [] : this.#restored) {
      const isKept = !shown.has(id) || this.shown.has(id) || !this.stored.has(id)
      assert.ok(isKept, `${step.kind} takes ${id} away, which the person has brought back`)
    }
  }

  /** Lets everything arrive that is under way. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      if (this.#entries.length + this.#asked.length > 0) quiet = 0
      while (this.#entries.length > 0) await this.take({ kind: 'entry' })
      while (this.#asked.length > 0) await this.take({ kind: 'answer', at: 0 })
      await this.take({ kind: this.#hasStream ? 'pause' : 'stream' })
    }
  }

  #beginStream(): void {
    this.#hasStream = true
    void this.list.refresh()
  }

  #write({ kind, id }: Write): void {
    const plant = { id, name: `version ${++this.#version}` }
    const deleted = this.#deleted.get(id)
    if (kind === 'other saves') this.#store(id, plant)
    else if (kind === 'other deletes') this.#store(id, undefined)
    else if (kind === 'bring back') {
      if (deleted === undefined || this.stored.has(id)) return
      this.#deleted.delete(id)
      this.#store(id, deleted)
      this.#restored.add(id)
      void this.list.putBack(deleted)
    } else {
      // The service takes no change of a plant that is not as the person saw it.
      const shown = this.list.plants.value.find((each) => each.id === id)
      if (shown === undefined || this.stored.get(id)?.name !== shown.name) return
      this.#store(id, kind === 'save' ? plant : undefined)
      for (const { answer, written } of this.#asked) if (answer !== undefined) written.add(id)
      if (kind === 'save') this.list.replace(plant)
      else this.list.remove(id)
      if (kind === 'save') return
      this.#deleted.set(id, shown)
      this.#restored.delete(id)
    }
  }

  #store(id: bigint, plant: Plant | undefined): void {
    const before = this.stored.get(id)
    if (plant === undefined) this.stored.delete(id)
    else this.stored.set(id, plant)
    if (this.#hasStream && (before !== undefined || plant !== undefined)) this.#entries.push({ plant, before })
  }

  #nth(at: number): Asked | undefined {
    return this.#asked[at % Math.max(1, this.#asked.length)]
  }

  async #answer(asked: Asked | undefined): Promise<void> {
    if (asked === undefined) return
    const before = this.shown
    asked.read()
    asked.answer?.()
    this.#asked.splice(this.#asked.indexOf(asked), 1)
    await new Promise(setImmediate)
    for (const id of asked.written) {
      assert.equal(this.shown.get(id), before.get(id), `an earlier request takes back what the person did with ${id}`)
    }
  }

  #ask<T>(read: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const asked: Asked = {
      answer: undefined,
      written: new Set(),
      read: () => {
        if (asked.answer !== undefined) return
        try {
          const value = read()
          asked.answer = () => resolve(value)
        } catch (error) {
          asked.answer = () => reject(error)
        }
      },
    }
    this.#asked.push(asked)
    return promise
  }

  #refuse(): never {
    const details = { status: 404, requestId: 'x', retryAfter: undefined, mayHaveSucceeded: false }
    throw new this.#parts.PlantstoreError(40402, 'no such plant', details)
  }
}

suite('the list of plants, whenever answers and changes of others arrive,', () => {
  let parts: Parts
  before(async () => {
    parts = await loadParts(wholeFile, PARTS)
  })

  for (const [title, show, ids] of [
    ['of a search', async (world: World) => world.list.show(parts.NO_FILTER), IDS],
    ['of one plant', (world: World) => world.list.open(1n, FOREVER), [1n]],
  ] as const) {
    test(`${title} keeps what the person has done, and shows in the end what is stored`, async () => {
      const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        mock.timers.enable({ apis: ['setTimeout'] })
        const world = new World(parts)
        try {
          const opened = show(world).then(
            () => true,
            () => false,
          )
          for (const each of steps) await world.take(each)
          await world.settle()
          // The view of a plant that is not there is a form to enter it.
          if (!(await opened)) return
          const stored = ids.flatMap((id) => world.stored.get(id) ?? [])
          assert.deepEqual([...world.shown].toSorted(), stored.map(({ id, name }) => [id, name]).toSorted())
        } finally {
          world.list.stop()
          mock.timers.reset()
        }
      })
      await holds(property, { numRuns: 2000 })
    })
  }
})
