import type { Actor } from './actor.ts'
import type { AbortingAsker, Asker } from './asker.ts'
import type { AppError } from './errors.ts'
import type { IdStore } from './id-store.ts'
import type { NewPlant } from './plant.ts'
import type { PlantFilter, PlantOrder, PlantQuery } from './plant-query.ts'
import type { Expectation } from './plant-version.ts'
import type { TokenStore } from './token-store.ts'

/** `created`: it is new. `unchanged`: the same plant was there already, so a create that is sent again is answered alike. */
export type CreateResult = 'created' | 'unchanged'

export interface CreateOptions {
  /** Refuses an id that exists, even with an equal plant. */
  readonly mustBeNew: boolean
}

/** What a partial update sets; what is absent here stays as it is. */
export interface PlantPatch {
  readonly name?: string
  /** `null` takes the tag away. */
  readonly tag?: string | null
}

export type ReplaceResult = 'created' | 'replaced'

/**
 * How an import treats an id that exists. `add`: as a create does, put if absent or equal. `update`: the plant in the
 * store becomes the imported one.
 */
export type ImportMode = 'add' | 'update'

/** What became of one imported plant. An AppError refuses it alone; it was not stored, and the others are not touched. */
export type ImportResult = 'added' | 'updated' | 'unchanged' | AppError

/** How many plants have a tag. */
export interface TagCount {
  readonly tag: string
  readonly plants: number
}

/** An import that stores nothing, and gives each plant the result that a real import would give it. */
export interface DryRun {
  /** Later calls see the plants of earlier ones as if the store had them. Results are in the order of the plants. */
  importPlants(plants: readonly NewPlant[]): Promise<ImportResult[]>

  /** Releases what the dry run holds. Calling it again does nothing. */
  close(): Promise<void>
}

/**
 * The record of all plants and access tokens. These comments are the specification for every engine; each runs the same
 * test suite (test/store-suite.ts).
 *
 * Every promise of a write is kept or broken only after the outcome is known to be on stable storage. Any method may
 * throw AppError 50301 (out of reach; a write may or may not have been done), and every write 50304 (no space; nothing
 * was done) and 50303 (the store is closing; nothing was done).
 *
 * Every write of plants names its actor, whose id an engine with a log of changes keeps beside the change.
 */
export interface Store {
  /** The access tokens. They share the store's file or database, and its state. */
  readonly tokens: TokenStore

  /** Ids for plants of people who have none. */
  readonly ids: IdStore

  /**
   * Puts the plant if its id is absent, or finds it there as it is. Resolves after the commit that holds it.
   *
   * @throws AppError 40901 when the id belongs to a plant with another name or tag, 41201 when `mustBeNew` and the id
   *   exists; nothing changes. 50302 when too many creates are waiting; nothing is done
   */
  createPlant(plant: NewPlant, options: CreateOptions, actor: Actor): Promise<CreateResult>

  /**
   * The plant with this id; undefined when there is none. It sees every write that was answered before.
   * Several calls may get the same object, which never changes.
   *
   * @param asker where it is over before its turn has come, nothing is read for it, and it rejects with some error
   */
  getPlant(id: bigint, asker?: Asker): Promise<NewPlant | undefined>

  /**
   * Puts the plant, whatever was there. Resolves after the commit.
   *
   * @throws AppError 41201 when the expectation does not hold; nothing changes
   */
  replacePlant(plant: NewPlant, expected: Expectation, actor: Actor): Promise<ReplaceResult>

  /**
   * Changes parts of a plant and resolves, after the commit, with the whole of it. Two updates of different parts at the
   * same time are both kept.
   *
   * @throws AppError 40402 when there is none; 41201 when the expectation does not hold; nothing changes
   */
  updatePlant(id: bigint, patch: PlantPatch, expected: Expectation, actor: Actor): Promise<NewPlant>

  /**
   * Forgets a plant. Resolves after the commit.
   *
   * @throws AppError 40402 when there is none; 41201 when the expectation does not hold; nothing changes
   */
  deletePlant(id: bigint, expected: Expectation, actor: Actor): Promise<void>

  /**
   * At most `limit` of the plants that the query means, in its order, from its position on. They are as they were at one
   * moment, which is no earlier than the call: every write that was answered before it is seen. Stops early once the texts
   * add up to PAGE_TEXT (src/plant-query.ts); one extra plant shows that there is another page.
   * Calls with the same query and limit may get the same array, which never changes.
   *
   * @throws AppError 50301 also while an index that it takes is being made; never for plants without a filter by id
   * @param asker ends the search early: it rejects with the signal's reason, and what it holds is let go within a second
   */
  listPlants(query: PlantQuery, limit: number, asker?: AbortingAsker): Promise<readonly NewPlant[]>

  /**
   * At most `limit` tags that plants have, by code points, from behind `after` on; seen, refused and ended early as by
   * listPlants.
   */
  listTags(after: string | undefined, limit: number, signal?: AbortSignal): Promise<TagCount[]>

  /**
   * Puts many plants with one commit, in their order, so that a later one sees the earlier. Results are in the same
   * order. Rejects as a whole, with nothing stored, only where every write can (50301, 50303, 50304). In a sharded
   * store, each shard has a commit of its own, and some of them may be done when it rejects.
   */
  importPlants(plants: readonly NewPlant[], mode: ImportMode, actor: Actor): Promise<ImportResult[]>

  /** Starts an import that stores nothing. */
  startDryRun(mode: ImportMode): Promise<DryRun>

  /**
   * All plants that the filter means, in the order, a chunk of up to about a thousand at a time, as they were at one
   * moment, which is no earlier than the first chunk was asked for. Others write meanwhile without being seen and without
   * waiting. Takes the same memory for any number of plants. Leaving the iteration early frees what it holds.
   *
   * @throws AppError 50301 as listPlants does, before the first chunk
   * @param signal ends the chunk under way early: the iteration throws the signal's reason, and what it holds is let go
   *   within a second. Between two chunks, leaving the iteration lets go of it
   */
  exportPlants(filter: PlantFilter, order: PlantOrder, signal?: AbortSignal): AsyncIterable<readonly NewPlant[]>

  /** How many plants there are. It looks at all of them, others write meanwhile. */
  countPlants(): Promise<number>

  /** Resolves once a write has really been made and committed; tells readiness. */
  checkWritable(): Promise<void>

  /**
   * Resolves when what a search takes can be had, a descriptor among it, however busy it is with others; tells readiness.
   *
   * @throws AppError 50301 when it can't
   */
  checkSearchable(): Promise<void>

  /** Finishes the writes that are waiting, then lets go of everything. Calling it again does nothing. */
  close(): Promise<void>
}
