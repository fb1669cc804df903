import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import fc from 'fast-check'
import type * as Errors from '../../client/src/errors.ts'
import { versionOf } from '../../src/domain/plant.ts'
import { type Change, type Content, isSame, type Waiting } from '../../web/src/offline/change.ts'
import { loadParts } from '../support/page-parts.ts'
import { holds } from '../support/property.ts'
import { wholeFile } from '../support/whole-file.ts'

/** The queue of the page, without the page. */
interface Queue {
  submit(session: object, change: Change): Promise<{ readonly kind: 'stored' | 'met' | 'waits' }>
  followWaiting(): void
  drop(key: string): Promise<void>
  readonly byKey: { readonly value: ReadonlyMap<string, Waiting> }
  readonly due: { readonly value: readonly Waiting[] }
  readonly session: { value: object }
  readonly connection: { value: 'good' | 'lost' }
  readonly PlantstoreError: typeof Errors.PlantstoreError
  readonly PlantstoreUnreachable: typeof Errors.PlantstoreUnreachable
}

const PARTS = {
  'web/src/offline/send.ts': 'submit, followWaiting',
  'web/src/offline/waiting.ts': 'byKey, due, drop',
  'web/src/session/session.ts': 'session',
  'web/src/page/connection.ts': 'connection',
  'client/src/index.ts': 'PlantstoreError, PlantstoreUnreachable',
}

/** What becomes of a request, or of its answer. */
type Fate = 'answered' | 'request lost' | 'answer lost'

/** A service with plants alone, whose network loses what the test says. */
class SmallService {
  readonly plants = new Map<bigint, Content>()
  /** What its writes by the queue replaced and stored, in their order. */
  readonly writes: { readonly id: bigint; readonly before: Content | null; readonly after: Content | null }[] = []
  /** What each plant became, by the queue or by others. */
  readonly states: { readonly id: bigint; readonly plant: Content | null }[] = []
  readonly #queue: Queue
  readonly #fates: Fate[]
  #next = 1000n

  constructor(queue: Queue, fates: readonly Fate[]) {
    this.#queue = queue
    this.#fates = [...fates]
  }

  get client() {
    return {
      getPlant: (id: bigint) => this.#answer(() => this.#read(id)),
      createPlant: (plant: { id: bigint } & Content, { mustBeNew = false }) =>
        this.#answer(() => {
          const { id, ...wanted } = plant
          const there = this.plants.get(id)
          if (there !== undefined && (mustBeNew || !isSame(there, wanted))) this.refuse(mustBeNew ? 41201 : 40901)
          if (there === undefined) this.#write(id, wanted)
        }),
      updatePlant: (id: bigint, change: { name?: string }, { ifMatch }: { ifMatch: string }) =>
        this.#answer(() => {
          this.#expect(id, ifMatch)
          this.#write(id, { name: change.name ?? this.plants.get(id)?.name ?? '' })
        }),
      deletePlant: (id: bigint, { ifMatch }: { ifMatch: string }) =>
        this.#answer(() => {
          this.#expect(id, ifMatch)
          this.#write(id, null)
        }),
      reserveIds: () => this.#answer(() => ({ first: this.#next++ })),
    }
  }

  /** Another client writes. */
  set(id: bigint, plant: Content | null): void {
    this.states.push({ id, plant })
    if (plant === null) this.plants.delete(id)
    else this.plants.set(id, plant)
  }

  #read(id: bigint) {
    const plant = this.plants.get(id) ?? this.refuse(40402)
    return { plant: { id, ...plant }, etag: etagOf(id, plant) }
  }

  #expect(id: bigint, ifMatch: string): void {
    if (!ifMatch.split(', ').includes(this.#read(id).etag)) this.refuse(41201)
  }

  #write(id: bigint, after: Content | null): void {
    this.writes.push({ id, before: this.plants.get(id) ?? null, after })
    this.set(id, after)
  }

  refuse(number: 0 | 40301 | 40402 | 40901 | 41201): never {
    const details = { status: Math.floor(number / 100), requestId: 'x', retryAfter: undefined, mayHaveSucceeded: false }
    throw new this.#queue.PlantstoreError(number, 'refused', details)
  }

  /** Answers in a later turn, or loses the connection. */
  async #answer<T>(work: () => T): Promise<T> {
    await new Promise(setImmediate)
    const fate = this.#queue.connection.value === 'good' ? (this.#fates.shift() ?? 'answered') : 'request lost'
    if (fate === 'answered') return work()
    try {
      if (fate === 'answer lost') work()
    } catch {
      // A refusal is lost like any answer.
    }
    this.#queue.connection.value = 'lost'
    throw new this.#queue.PlantstoreUnreachable('no answer')
  }
}

const etagOf = (id: bigint, { name, tag }: Content): string => `"${versionOf({ id, name, tag })}"`

/** What happens: the person wants a plant to be so, another client changes it, or the network comes or goes. */
type Step =
  | { readonly by: 'person' | 'other'; readonly id: bigint; readonly wants: 'a name' | 'nothing' }
  | { readonly by: 'person'; readonly id: undefined; readonly wants: 'a name' }
  | { readonly by: 'network'; readonly isGood: boolean }

const ids = fc.constantFrom(1n, 2n, 3n)
const by = fc.constantFrom('person', 'person', 'person', 'other')
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 7, arbitrary: fc.record({ by, id: ids, wants: fc.constantFrom('a name', 'nothing') }) },
  { weight: 1, arbitrary: fc.constant({ by: 'person', id: undefined, wants: 'a name' } as const) },
  { weight: 3, arbitrary: fc.record({ by: fc.constant('network'), isGood: fc.boolean() }) },
)
const fate = fc.constantFrom<Fate>('answered', 'answered', 'request lost', 'answer lost')
const history = fc.tuple(fc.array(step, { minLength: 1, maxLength: 10 }), fc.array(fate, { maxLength: 8 }))

/** A person at the page: what they saw of each plant, and what they wanted it to be. */
class Person {
  readonly #queue: Queue
  readonly #session: object
  readonly #saw = new Map<bigint, (Content | null)[]>()
  /** The last wish for each plant, where the page has not said that it is void. */
  readonly wishes = new Map<bigint, Content | null>()
  readonly added: string[] = []

  constructor(queue: Queue, session: object) {
    this.#queue = queue
    this.#session = session
  }

  /** Looks at a plant: at what waits, else at what the service has. */
  look(service: SmallService, id: bigint): Content | null {
    const waits = [...this.#queue.byKey.value.values()].find((each) => each.id === id)
    const plant = waits?.wanted !== undefined ? waits.wanted : (service.plants.get(id) ?? null)
    this.#saw.set(id, [...(this.#saw.get(id) ?? [null]), plant])
    return plant
  }

  hasSeen = (id: bigint, plant: Content | null): boolean =>
    (this.#saw.get(id) ?? [null]).some((each) => each?.name === plant?.name)

  async wants(id: bigint | undefined, base: Content | null, wanted: Content | null): Promise<void> {
    if (id === undefined) this.added.push(wanted?.name ?? '')
    else this.#saw.get(id)?.push(wanted)
    if (id !== undefined) this.wishes.set(id, wanted)
    try {
      const { kind } = await this.#queue.submit(this.#session, { id, base, wanted })
      if (kind === 'met' && id !== undefined) this.wishes.delete(id)
    } catch {
      // The page says so, and the form keeps what was typed.
      if (id !== undefined) this.wishes.delete(id)
    }
  }
}

suite('the changes that wait on a device', () => {
  let queue: Queue
  before(async () => {
    queue = await loadParts(wholeFile, PARTS)
    queue.followWaiting()
  })

  const settled = async (): Promise<void> => {
    for (let quiet = 0; quiet < 6; ) {
      await new Promise(setImmediate)
      quiet = queue.connection.value === 'good' && queue.due.value.length > 0 ? 0 : quiet + 1
    }
  }

  const signedIn = (service: SmallService) => {
    const { client } = service
    const session = { own: { id: 'tok', name: 'a', store: 's' }, may: () => true, isConfirmed: true, client }
    queue.connection.value = 'good'
    queue.session.value = { kind: 'signed-in', ...session }
    return session
  }

  test('stay where the service refuses an earlier change of the plant at the same time', async () => {
    for (const refused of [40301, 41201] as const) {
      const service = new SmallService(queue, [])
      const session = signedIn(service)
      service.set(1n, { name: 'old' })
      const [sent, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const { updatePlant } = session.client
      session.client.updatePlant = async () => {
        sent.resolve()
        await answered.promise
        session.client.updatePlant = updatePlant
        return service.refuse(refused)
      }
      const first = queue.submit(session, { id: 1n, base: { name: 'old' }, wanted: { name: 'first' } })
      await sent.promise
      answered.resolve()
      const second = queue.submit(session, { id: 1n, base: { name: 'old' }, wanted: { name: 'second' } })
      await first.catch(() => {})
      assert.equal((await second).kind, 'stored')
      assert.deepEqual(service.plants.get(1n), { name: 'second' })
      assert.deepEqual([...queue.byKey.value], [])
    }
  })

  test('stay where the service refuses a further one of the plant', async () => {
    const service = new SmallService(queue, [])
    const session = signedIn(service)
    service.set(1n, { name: 'old' })
    const { updatePlant } = session.client
    // A refusal without a number is a proxy's, and holds nothing.
    session.client.updatePlant = async () => service.refuse(0)
    session.client.deletePlant = async () => service.refuse(40301)
    queue.connection.value = 'lost'
    await queue.submit(session, { id: 1n, base: { name: 'old' }, wanted: { name: 'first' } })
    queue.connection.value = 'good'
    await assert.rejects(queue.submit(session, { id: 1n, base: { name: 'first' }, wanted: null }))
    const kept = [...queue.byKey.value.values()].map(({ wanted }) => wanted)
    assert.deepEqual(kept, [{ name: 'first' }])
    session.client.updatePlant = updatePlant
    await queue.submit(session, { id: 1n, base: { name: 'first' }, wanted: { name: 'second' } })
    assert.deepEqual(service.plants.get(1n), { name: 'second' })
  })

  test('stay where another plant would take the id of theirs', async () => {
    const [old, mine, other] = [{ name: 'old' }, { name: 'mine' }, { name: 'other' }]
    for (const [first, further, isOfPlant] of [
      [{ base: old, wanted: mine }, { base: null, wanted: other }, false],
      [{ base: null, wanted: mine }, { base: null, wanted: other }, false],
      [{ base: null, wanted: mine }, { base: old, wanted: null }, false],
      [{ base: null, wanted: mine }, { base: old, wanted: other }, false],
      // Who sees the new plant wait edits that one, and a deleted one leaves its id.
      [{ base: null, wanted: mine }, { base: mine, wanted: other }, true],
      [{ base: old, wanted: null }, { base: null, wanted: other }, true],
    ] as const) {
      const session = signedIn(new SmallService(queue, []))
      queue.connection.value = 'lost'
      await queue.submit(session, { id: 1n, ...first })
      const answer = queue.submit(session, { id: 1n, ...further })
      await (isOfPlant ? answer : assert.rejects(answer))
      const [kept] = queue.byKey.value.values()
      assert.deepEqual(kept?.wanted, (isOfPlant ? further : first).wanted)
      await queue.drop(kept?.key ?? '')
    }
  })

  test('reach the service once, or wait for the person, and replace nothing that the person has not seen', async () => {
    const property = fc.asyncProperty(history, async ([steps, fates]) => {
      const service = new SmallService(queue, fates)
      const session = signedIn(service)
      for (const id of [1n, 2n]) service.set(id, { name: `old ${id}` })
      const person = new Person(queue, session)
      const submits = new Map<bigint | undefined, Promise<void>>()
      let count = 0
      for (const each of steps) {
        if (each.by === 'network') queue.connection.value = each.isGood ? 'good' : 'lost'
        else if (each.by === 'other')
          service.set(each.id, each.wants === 'nothing' ? null : { name: `theirs ${count++}` })
        else {
          // A form is open for one change of a plant at a time.
          if (each.id !== undefined) await submits.get(each.id)
          const base = each.id === undefined ? null : person.look(service, each.id)
          const wanted = each.wants === 'nothing' ? null : { name: `mine ${count++}` }
          if (base !== null || wanted !== null)
            submits.set(each.id ?? BigInt(-count), person.wants(each.id, base, wanted))
        }
        for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
      }
      // The network comes back for good, as often as a request of before is still lost.
      for (let i = 0; i < 12; i++) {
        queue.connection.value = 'good'
        await settled()
      }
      await Promise.all(submits.values())
      await settled()
      assert.deepEqual(queue.due.value, [], 'nothing waits for the service')
      const held = [...queue.byKey.value.values()]
      for (const { id, before: replaced } of service.writes) {
        if (id < 1000n) assert.ok(person.hasSeen(id, replaced), `${replaced?.name} of ${id} was replaced unseen`)
      }
      for (const name of person.added) {
        const times = service.writes.filter(({ after }) => after?.name === name).length
        assert.equal(times + held.filter(({ wanted }) => wanted?.name === name).length, 1, `${name}: ${times} times`)
      }
      for (const [id, wanted] of person.wishes) {
        const isDone = service.states.some((state) => state.id === id && state.plant?.name === wanted?.name)
        const isHeld = held.some((each) => each.id === id && each.wanted?.name === wanted?.name)
        // A plant that is deleted before the service had it is none of its matters.
        const isTakenBack = wanted === null && !service.writes.some((write) => write.id === id)
        assert.ok(isDone || isHeld || isTakenBack, `${wanted?.name ?? 'the deletion'} of ${id} is lost`)
      }
      for (const { key } of held) await queue.drop(key)
    })
    await holds(property, { numRuns: 2000 })
  })
})
