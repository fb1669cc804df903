import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../src/errors.ts'
import { MAX_ID, MIN_ID, type NewPlant, type Plant } from '../src/plant.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import { hashSecret, SCOPES, type Token } from '../src/token.ts'
import { createPlant } from './support/create-plant.ts'
import { copyAsAfterCrash, plantsIn, tempFolder } from './support/files.ts'

/** What the store should hold. */
interface Model {
  readonly plants: Map<bigint, Plant>
  readonly tokens: Map<string, Token>
}

/** The store itself, which moves to another file by a crash. */
interface Real {
  store: SqliteStore
  path: string
  readonly nextPath: () => string
}

type Command = fc.AsyncCommand<Model, Real>

const open = (path: string): Promise<SqliteStore> =>
  SqliteStore.open(path, { serving: true, create: true, maxWaiting: 1000, onFatal: (error) => assert.fail(error) })

/** Creates that are sent at the same time. */
class CreateBatch implements Command {
  readonly #creates: readonly (NewPlant & { mustBeNew: boolean })[]

  constructor(creates: readonly (NewPlant & { mustBeNew: boolean })[]) {
    this.#creates = creates
  }

  check = () => true

  async run({ plants }: Model, { store }: Real): Promise<void> {
    const results = await Promise.all(
      this.#creates.map(({ mustBeNew, ...plant }) =>
        createPlant(store, plant, { mustBeNew }).catch((error: unknown) => {
          assert.ok(error instanceof AppError, String(error))
          return error.number
        }),
      ),
    )
    // Which of several creates of a new id comes first is the store's to say; everything else follows from that.
    for (const [i, { id, name, tag }] of this.#creates.entries()) {
      if (results[i] !== 'created') continue
      assert.ok(!plants.has(id), `${id} was created twice`)
      plants.set(id, { name, tag })
    }
    for (const [i, { id, name, tag, mustBeNew }] of this.#creates.entries()) {
      const there = plants.get(id)
      assert.ok(there, `${id} was refused although it did not exist`)
      const found = there.name === name && there.tag === tag ? 'unchanged' : 40901
      if (results[i] !== 'created') assert.equal(results[i], mustBeNew ? 41201 : found)
    }
  }

  toString = () =>
    `create(${this.#creates.map(({ id, name, tag, mustBeNew }) => `${id} ${JSON.stringify([name, tag])}${mustBeNew ? ' new' : ''}`).join(', ')})`
}

class CreateToken implements Command {
  readonly #token: Token

  constructor(name: string, expiresAt: Date | undefined) {
    this.#token = { id: `tok_${name}`, name, scopes: SCOPES, createdAt: new Date(0), expiresAt, lastUsedAt: undefined }
  }

  check = ({ tokens }: Model) => !tokens.has(this.#token.id)

  async run({ tokens }: Model, { store }: Real): Promise<void> {
    await store.createToken(this.#token, hashSecret(this.#token.id))
    tokens.set(this.#token.id, this.#token)
  }

  toString = () => `createToken(${this.#token.id})`
}

class RevokeToken implements Command {
  readonly #id: string

  constructor(name: string) {
    this.#id = `tok_${name}`
  }

  check = () => true

  async run({ tokens }: Model, { store }: Real): Promise<void> {
    assert.equal(await store.revokeToken(this.#id), tokens.delete(this.#id))
  }

  toString = () => `revokeToken(${this.#id})`
}

class TouchToken implements Command {
  readonly #id: string
  readonly #usedAt: Date

  constructor(name: string, usedAt: Date) {
    this.#id = `tok_${name}`
    this.#usedAt = usedAt
  }

  check = () => true

  async run({ tokens }: Model, { store }: Real): Promise<void> {
    await store.touchToken(this.#id, this.#usedAt)
    const token = tokens.get(this.#id)
    if (token !== undefined) tokens.set(this.#id, { ...token, lastUsedAt: this.#usedAt })
  }

  toString = () => `touchToken(${this.#id})`
}

class Reopen implements Command {
  check = () => true

  async run(model: Model, real: Real): Promise<void> {
    await real.store.close()
    real.store = await open(real.path)
    await assertSame(model, real)
  }

  toString = () => 'reopen()'
}

class CrashAndReopen implements Command {
  check = () => true

  async run(model: Model, real: Real): Promise<void> {
    const path = real.nextPath()
    copyAsAfterCrash(real.path, path)
    await real.store.close()
    real.store = await open(path)
    real.path = path
    await assertSame(model, real)
  }

  toString = () => 'crashAndReopen()'
}

async function assertSame(model: Model, { store, path }: Real): Promise<void> {
  assert.deepEqual(plantsIn(path), model.plants)
  const tokens = new Map((await store.listTokens()).map((token) => [token.id, token]))
  assert.deepEqual(tokens, model.tokens)
  for (const [id, token] of model.tokens) assert.deepEqual(await store.findToken(hashSecret(id)), token)
}

// Few ids and texts, so that creates meet; and some that are anything.
const id = fc.oneof(fc.constantFrom(MIN_ID, -1n, 0n, 2n ** 53n, 2n ** 53n + 1n, MAX_ID), fc.bigInt(MIN_ID, MAX_ID))
const text = fc.oneof(
  fc.constantFrom('', 'a', 'A', '\u00e9', 'e\u0301'),
  fc.string({ unit: 'binary', maxLength: 20 }).filter((any) => !any.includes('\0')),
)
const create = fc.record({ id, name: text, tag: fc.option(text, { nil: undefined }), mustBeNew: fc.boolean() })
const tokenName = fc.constantFrom('a', 'b', 'c')
const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') })

const batch = fc.array(create, { minLength: 1, maxLength: 12 }).map((creates) => new CreateBatch(creates))
const commands = [
  batch,
  // Named again: most of what happens should be creates.
  batch,
  fc.tuple(tokenName, fc.option(time, { nil: undefined })).map(([name, end]) => new CreateToken(name, end)),
  tokenName.map((name) => new RevokeToken(name)),
  fc.tuple(tokenName, time).map(([name, usedAt]) => new TouchToken(name, usedAt)),
  fc.constant(new Reopen()),
  fc.constant(new CrashAndReopen()),
]

test('whatever is done to a store, it holds what a map would, through crashes and restarts', async (t) => {
  const folder = tempFolder(t)
  let files = 0
  const nextPath = () => join(folder, `${files++}.db`)
  const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 30 }), async (sequence) => {
    const path = nextPath()
    const real: Real = { store: await open(path), path, nextPath }
    const model: Model = { plants: new Map(), tokens: new Map() }
    try {
      await fc.asyncModelRun(() => ({ model, real }), sequence)
      await assertSame(model, real)
    } finally {
      await real.store.close()
    }
  })
  await fc.assert(property, { numRuns: 40 })
})
