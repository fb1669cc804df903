import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import type * as Errors from '../../client/src/errors.ts'
import { ROOT } from '../../scripts/repository.ts'
import type * as Changes from '../../web/src/offline/change.ts'
import type { Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'
import { BROWSER } from './kept-changes.ts'

type Content = Changes.Content
type Waiting = Changes.Waiting

/** The queue of the page, without the page. */
export interface Queue {
  submit(session: object, change: Changes.Change): Promise<{ readonly kind: 'stored' | 'met' | 'waits' }>
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

export const loadQueue = (scene: Scene): Promise<Queue> => loadParts(scene, PARTS)

/**
 * Bundles parts of the page, because Node.js runs no JSX, and gives them a browser of the test.
 *
 * @param parts the names that each file exports
 */
export async function loadParts<Parts>(scene: Scene, parts: Readonly<Record<string, string>>): Promise<Parts> {
  const contents = Object.entries(parts).map(([file, names]) => `export { ${names} } from './${file}'`)
  const { outputFiles } = await build({
    stdin: { contents: contents.join('\n'), resolveDir: ROOT, loader: 'ts' },
    tsconfigRaw: {},
    jsx: 'automatic',
    jsxImportSource: 'preact',
    bundle: true,
    external: ['*.js'],
    write: false,
    format: 'esm',
    mainFields: ['module', 'main'],
  })
  const path = join(tempFolder(scene), 'page/queue.mjs')
  writeFileSync(path.replace('page/', ''), outputFiles[0]?.contents ?? '')
  for (const [name, value] of Object.entries(BROWSER)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  return (await import(pathToFileURL(path.replace('page/', '')).href)) as Parts
}

/** What becomes of a request, or of its answer. */
export type Fate = 'answered' | 'request lost' | 'answer lost'

/** A service with plants alone, whose network loses what the test says. */
export class SmallService {
  readonly plants = new Map<bigint, Content>()
  /** What its writes by the queue replaced and stored, in their order. */
  readonly writes: { readonly id: bigint; readonly before: Content | null; readonly after: Content | null }[] = []
  /** What each plant became, by the queue or by others. */
  readonly states: { readonly id: bigint; readonly plant: Content | null }[] = []
  readonly #queue: Queue
  readonly #fates: Fate[]
  #version = 0
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
    this.#version += 1
    this.states.push({ id, plant })
    if (plant === null) this.plants.delete(id)
    else this.plants.set(id, plant)
  }

  #read(id: bigint) {
    const plant = this.plants.get(id) ?? this.refuse(40402)
    return { plant: { id, ...plant }, etag: `${this.#version}` }
  }

  #expect(id: bigint, ifMatch: string): void {
    if (!this.plants.has(id)) this.refuse(40402)
    if (ifMatch !== `${this.#version}`) this.refuse(41201)
  }

  #write(id: bigint, after: Content | null): void {
    this.writes.push({ id, before: this.plants.get(id) ?? null, after })
    this.set(id, after)
  }

  refuse(number: 40301 | 40402 | 40901 | 41201): never {
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

const isSame = (one: Content, other: Content): boolean => one.name === other.name && one.tag === other.tag
