import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { OperatorError } from '../../base/operator-error.ts'
import { AppError, outOfReach } from '../../domain/errors.ts'
import type { ShardState } from '../../domain/store.ts'
import { sqlState, Unanswered } from '../errors.ts'
import { budgetOf, type Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { type Shard, ShardMap } from './shard-map.ts'

/** Milliseconds after which the next write reads the map again: shards may have moved, or been split. */
const MAX_AGE = 10_000
/** Milliseconds between two attempts to reach a server, and of one attempt. */
const INTERVAL = 500
const LOOKUP_TIMEOUT = 3000

/**
 * The shards of a distributed store, and the servers out of reach. Callers refuse plants on such a server at once, as
 * they would hold connections until their deadlines. An attempt every 500 ms finds out when the server answers again.
 */
export class Shards {
  readonly #share: PoolShare
  /** Servers out of reach, and those that may lose acknowledged writes, with the reason. */
  readonly #lost = new Map<string, string | undefined>()
  #map: ShardMap | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #isClosed = false
  readonly #attempts = new Map<string, Promise<void>>()
  readonly #watched = new Set<string>()

  constructor(share: PoolShare) {
    this.#share = share
  }

  get map(): ShardMap | undefined {
    return this.#map
  }

  get state(): ShardState | undefined {
    const map = this.#map
    if (map === undefined) return undefined
    const outOfReach = map.shards.filter(({ node }) => this.#lost.has(node)).length
    return { shards: map.shards.length, outOfReach }
  }

  async read(): Promise<void> {
    this.#readAt = performance.now()
    this.#map = await readShards(this.#share.run)
  }

  /** Call it with each write. It reads the map again in the background, once the map is older than MAX_AGE. */
  refreshIfOld(): void {
    if (performance.now() - this.#readAt < MAX_AGE) return
    this.read().catch(() => {})
  }

  /** The refusal of a plant whose server is out of reach. */
  refusalOf({ node }: Shard): AppError | undefined {
    return this.#lost.has(node) ? partOutOfReach(undefined) : undefined
  }

  /** The refusal of a statement that needs every shard. */
  get refusalOfAll(): AppError | undefined {
    const isLost = this.#map?.nodes.some((node) => this.#lost.has(node)) === true
    return isLost ? partOutOfReach(undefined) : undefined
  }

  /** Call it with each error of a statement on one shard. */
  failed({ node }: Shard, error: unknown): void {
    if (isNodeFault(error)) this.#lost.set(node, undefined)
    if (isNodeFault(error) || isNodeSuspect(error)) void this.#watch(node)
  }

  /** Call it with each error of a statement. @returns the AppError for a server out of reach */
  suspect(error: unknown): AppError | undefined {
    if (isNodeFault(error) || isNodeSuspect(error)) for (const node of this.#map?.nodes ?? []) void this.#watch(node)
    return isNodeFault(error) ? partOutOfReach(error) : undefined
  }

  /**
   * Asks each server that is not lost, and brings `state` up to date.
   *
   * @throws AppError 50301 when none can be reached
   */
  async check(): Promise<void> {
    this.refreshIfOld()
    const nodes = this.#map?.nodes ?? []
    await Promise.all(nodes.filter((node) => !this.#lost.has(node)).map((node) => this.#attempt(node)))
    const lost = nodes.filter((node) => this.#lost.has(node))
    for (const node of lost) void this.#watch(node)
    if (nodes.length > 0 && lost.length === nodes.length) throw outOfReach(undefined)
  }

  /** @throws OperatorError when a server that was asked may lose acknowledged writes */
  mustBeSafe(): void {
    for (const [node, reason] of this.#lost)
      if (reason !== undefined) throw new OperatorError(`the worker ${node} ${reason}`)
  }

  close(): void {
    this.#isClosed = true
  }

  /** Attempts to reach a server until it answers. */
  async #watch(node: string): Promise<void> {
    if (this.#watched.has(node)) return
    this.#watched.add(node)
    await this.#attempt(node)
    while (this.#lost.has(node) && !this.#isClosed) {
      await sleep(INTERVAL, undefined, { ref: false })
      await this.#attempt(node)
    }
    this.#watched.delete(node)
  }

  #attempt(node: string): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    const running = this.#attempts.get(node) ?? this.#ask(node).finally(() => this.#attempts.delete(node))
    this.#attempts.set(node, running)
    return running
  }

  async #ask(node: string): Promise<void> {
    const map = this.#map
    if (map?.nodes.includes(node) !== true) {
      this.#lost.delete(node)
      return
    }
    try {
      const values = [String(map.idOn(node))]
      const { rows } = await this.#share.run({ name: 'ask-node', text: ASK, values }, budgetOf(LOOKUP_TIMEOUT))
      const [, fsync, commit] = rows[0] ?? []
      const reason = fsync !== 'on' ? UNSAFE.fsync : commit === 'off' ? UNSAFE.commit : undefined
      if (reason === undefined) this.#lost.delete(node)
      else this.#lost.set(node, reason)
    } catch (error) {
      if (isNodeFault(error) || isNodeSuspect(error)) this.#lost.set(node, undefined)
    }
  }
}

/** @returns undefined where the plants are not distributed by their ids */
async function readShards(run: Run): Promise<ShardMap | undefined> {
  const [row] = (await run({ name: 'citus', text: "SELECT to_regclass('pg_catalog.pg_dist_shard')" })).rows
  if (row?.[0] == null) return undefined
  const { rows } = await run({ name: 'shards', text: SHARDS })
  const shards = rows.map(([number, first, node]) => ({ number: number ?? '', first: Number(first), node: node ?? '' }))
  return shards.length === 0 ? undefined : new ShardMap(shards)
}

/** Takes the first placement of a shard that has several. */
const SHARDS = `SELECT DISTINCT ON (shardid) shardid, shardminvalue, nodename || ':' || nodeport
  FROM pg_dist_partition JOIN pg_dist_shard USING (logicalrelid) JOIN pg_dist_placement USING (shardid)
    JOIN pg_dist_node USING (groupid)
  WHERE logicalrelid = 'plants'::regclass AND partmethod = 'h' AND noderole = 'primary'
    AND column_to_column_name(logicalrelid, partkey) = 'id'
  ORDER BY shardid, placementid`

/** The server of the id answers with its own settings. A plant with this id need not exist. */
const ASK = `SELECT count(*), current_setting('fsync'), current_setting('synchronous_commit')
  FROM plants WHERE id = $1`

/** Faulty settings of a worker, which a session of the coordinator can not override. */
const UNSAFE = {
  fsync: 'has fsync off, so a power cut would lose acknowledged writes; set it to on',
  commit: 'has synchronous_commit off, so a power cut would lose acknowledged writes; set it to on',
}

/**
 * Whether the coordinator of a sharded store can not reach another server. Citus passes on the error of that server, or
 * sends connection_failure (08006). A fault of the coordinator itself is FATAL, or ends the connection.
 */
const isNodeFault = (error: unknown): boolean =>
  error instanceof DatabaseError && error.severity === 'ERROR' && /^(?:08|57P)/.test(error.code ?? '')

const QUERY_CANCELED = '57014'

/** Whether a statement took too long. A server of a sharded store may not answer. */
const isNodeSuspect = (error: unknown): boolean => error instanceof Unanswered || sqlState(error) === QUERY_CANCELED

const partOutOfReach = (cause: unknown): AppError =>
  new AppError(
    50301,
    'a part of the store is out of reach; a later retry is safe, and plants in other parts can be used meanwhile',
    { cause },
  )
