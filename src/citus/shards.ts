import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../base/operator-error.ts'
import { AppError, outOfReach } from '../domain/errors.ts'
import { causeOf, isConnectionSound, sqlState, Unanswered } from '../postgres/errors.ts'
import { budgetOf, type Run } from '../postgres/pool/client.ts'
import type { PoolShare } from '../postgres/pool/pool-share.ts'
import { type Shard, ShardMap } from './shard-map.ts'

/** Milliseconds after which the next write reads the map again: shards may have moved, or been split. */
const MAX_AGE = 10_000
/** Milliseconds between two attempts to reach a server, and of one attempt. */
const INTERVAL = 500
const LOOKUP_TIMEOUT = 3000

/**
 * The shards of a distributed store, and the servers out of reach. Work for plants on such a server is refused at once,
 * as it would hold connections until its deadline. An attempt every 500 ms finds out when the server answers again.
 */
export class Shards {
  readonly #share: PoolShare
  readonly #onNotice: (text: string) => void
  /** Servers out of reach, and those that may lose acknowledged writes, with the reason. */
  readonly #lost = new Map<string, string | undefined>()
  #map: ShardMap
  #readAt = performance.now()
  #isClosed = false
  readonly #attempts = new Map<string, Promise<void>>()
  readonly #watched = new Set<string>()

  /** @param onNotice called when a server goes out of reach, and when it is back */
  static async open(share: PoolShare, onNotice: (text: string) => void): Promise<Shards> {
    const map = await readShards(share.run)
    if (map === undefined) throw new OperatorError('its plants are not distributed by their ids')
    return new Shards(share, map, onNotice)
  }

  constructor(share: PoolShare, map: ShardMap, onNotice: (text: string) => void) {
    this.#share = share
    this.#map = map
    this.#onNotice = onNotice
  }

  get map(): ShardMap {
    return this.#map
  }

  /** @throws AppError 50301 when the server of the shard is out of reach */
  mustReach({ node }: Shard): void {
    if (this.#lost.has(node)) throw partOutOfReach(undefined)
  }

  /** Runs work on one shard, unless its server is out of reach. */
  async on<T>(shard: Shard, work: () => Promise<T>): Promise<T> {
    this.mustReach(shard)
    this.#refreshIfOld()
    try {
      return await work()
    } catch (error) {
      if (isNodeFault(causeOf(error))) this.#lose(shard.node)
      throw this.#suspect(error, [shard.node])
    }
  }

  /** Runs work on all shards, unless one is out of reach. */
  async onAll<T>(work: () => Promise<T>): Promise<T> {
    this.#mustReachAll()
    try {
      return await work()
    } catch (error) {
      throw this.#suspect(error, this.#map.nodes)
    }
  }

  async *streamOfAll<T>(work: () => AsyncIterable<T>): AsyncIterable<T> {
    this.#mustReachAll()
    try {
      yield* work()
    } catch (error) {
      throw this.#suspect(error, this.#map.nodes)
    }
  }

  #mustReachAll(): void {
    if (this.#map.nodes.some((node) => this.#lost.has(node))) throw partOutOfReach(undefined)
  }

  /** Asks servers that an error may be of. @returns the AppError for a server out of reach, or the error as it is */
  #suspect(error: unknown, nodes: readonly string[]): unknown {
    const cause = causeOf(error)
    if (isNodeFault(cause) || isNodeSuspect(cause)) for (const node of nodes) void this.#watch(node)
    return isNodeFault(cause) ? partOutOfReach(cause) : error
  }

  /** Reads the map again in the background, once it is older than MAX_AGE. */
  #refreshIfOld(): void {
    if (performance.now() - this.#readAt < MAX_AGE) return
    this.#readAt = performance.now()
    const keep = (map: ShardMap | undefined) => {
      this.#map = map ?? this.#map
    }
    readShards(this.#share.run).then(keep, () => {})
  }

  #lose(node: string, reason?: string): void {
    if (!this.#lost.has(node)) this.#onNotice(`the worker ${node} ${reason ?? 'is out of reach'}`)
    this.#lost.set(node, reason)
  }

  #regain(node: string): void {
    if (this.#lost.delete(node)) this.#onNotice(`the worker ${node} is back`)
  }

  /**
   * Asks each server that is not lost.
   *
   * @throws AppError 50301 when none can be reached
   */
  async check(): Promise<void> {
    this.#refreshIfOld()
    const { nodes } = this.#map
    await Promise.all(nodes.filter((node) => !this.#lost.has(node)).map((node) => this.#attempt(node)))
    const lost = nodes.filter((node) => this.#lost.has(node))
    for (const node of lost) void this.#watch(node)
    if (lost.length === nodes.length) throw outOfReach(undefined)
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
    if (!map.nodes.includes(node)) return this.#regain(node)
    try {
      const values = [String(map.idOn(node))]
      const { rows } = await this.#share.run({ name: 'ask-node', text: ASK, values }, budgetOf(LOOKUP_TIMEOUT))
      const [, fsync, commit] = rows[0] ?? []
      const reason = fsync !== 'on' ? UNSAFE.fsync : commit === 'off' ? UNSAFE.commit : undefined
      if (reason === undefined) this.#regain(node)
      else this.#lose(node, reason)
    } catch (error) {
      if (isNodeFault(error) || isNodeSuspect(error)) this.#lose(node)
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
  WHERE logicalrelid = to_regclass('plants') AND partmethod = 'h' AND noderole = 'primary'
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
const isNodeFault = (error: unknown): boolean => isConnectionSound(error) && /^(?:08|57P)/.test(sqlState(error) ?? '')

const QUERY_CANCELED = '57014'

/** Whether a statement took too long. A server of a sharded store may not answer. */
const isNodeSuspect = (error: unknown): boolean => error instanceof Unanswered || sqlState(error) === QUERY_CANCELED

const partOutOfReach = (cause: unknown): AppError =>
  new AppError(
    50301,
    'a part of the store is out of reach; a later retry is safe, and plants in other parts can be used meanwhile',
    { cause },
  )
