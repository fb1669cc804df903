import type { Bound } from '../../base/counts.ts'
import { countCommit, fullBy, GroupCommit, queueFull } from '../../base/group-commit.ts'
import { AppError } from '../../domain/errors.ts'
import { shuttingDown } from '../errors.ts'
import type { Commit, Groups, GroupsOptions } from '../groups.ts'
import type { Shard } from './shard-map.ts'
import type { Shards } from './shards.ts'

/**
 * Concurrent groups on all servers together, but at least one on each: a server that hangs then delays no other one.
 * With twice as many, groups are smaller, and a create costs the database a quarter more.
 */
const GROUPS = 2
/**
 * Milliseconds that rows wait until GATHERED of the recent peak have come. A group costs the database as much as ten
 * rows, and groups of one shard are small (docs/decisions/0030-shards.md).
 */
const MAX_GATHER = 2
/** Not all callers that got a result together come back. */
const GATHERED = 0.75
/** Decay of the peak: a burst stops counting after about this many groups. */
const PEAK_DECAY = 32

/**
 * Puts only rows of one shard into a group, where the plants are distributed. Citus commits such a group on one server.
 * A group on several shards needs a two-phase commit of the coordinator.
 */
export class ShardGroups<Row, Result> implements Groups<Row, Result> {
  readonly #shards: Shards
  readonly #commit: Commit<Row, Result>
  readonly #options: GroupsOptions<Row>
  /** For plants that are not distributed. */
  readonly #whole: GroupCommit<Row, Result>
  readonly #nodes = new Map<string, NodeGroups<Row, Result>>()
  /** Rows on shards that wait or are in flight. */
  #open = 0
  #isClosed = false
  #idle: (() => void)[] = []

  constructor(shards: Shards, commit: Commit<Row, Result>, options: GroupsOptions<Row>) {
    this.#shards = shards
    this.#commit = commit
    this.#options = options
    this.#whole = new GroupCommit(commit, options)
  }

  /** See GroupCommit.submit. @throws AppError 50301 also when the server of the row is out of reach */
  async submit(row: Row): Promise<Result> {
    const { map } = this.#shards
    if (map === undefined) return this.#whole.submit(row)
    const { rows, weight } = this
    const { weigh, idOf } = this.#options
    const shard = map.shardOf(idOf(row))
    const own = weigh(row)
    const full = rows.hasRoom() ? fullBy(weight, own) : rows
    if (full !== undefined) full.refused++
    const refusal = this.#isClosed ? shuttingDown() : full === undefined ? this.#shards.refusalOf(shard) : queueFull()
    if (refusal !== undefined) throw refusal
    this.#open++
    rows.used++
    weight.used += own
    try {
      return await this.#groupsOn(shard.node, map.nodes.length).submit(row, shard)
    } finally {
      this.#open--
      rows.used--
      weight.used -= own
      if (this.#open === 0) for (const resolve of this.#idle.splice(0)) resolve()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#open > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
    await this.#whole.close()
  }

  get rows(): Bound {
    return this.#whole.rows
  }

  get weight(): Bound {
    return this.#whole.weight
  }

  #groupsOn(node: string, nodes: number): NodeGroups<Row, Result> {
    let groups = this.#nodes.get(node)
    if (groups === undefined) {
      const { maxGroup, maxInFlight } = this.#options
      const most = Math.min(maxInFlight, Math.ceil(GROUPS / nodes))
      groups = new NodeGroups((rows, shard) => this.#commitOn(rows, shard), maxGroup, most)
      this.#nodes.set(node, groups)
    }
    return groups
  }

  async #commitOn(rows: readonly Row[], shard: Shard): Promise<readonly (Result | Error)[]> {
    // The server may have failed while the rows waited.
    const refusal = this.#shards.refusalOf(shard)
    if (refusal !== undefined) return rows.map(() => refusal)
    const { stats } = this.#options
    try {
      const commit = () => this.#commit(rows)
      return await (stats === undefined ? commit() : countCommit(stats, rows.length, commit))
    } catch (error) {
      this.#shards.failed(shard, error instanceof AppError ? error.cause : error)
      throw error
    }
  }
}

interface PlacedRow<Row, Result> extends PromiseWithResolvers<Result> {
  readonly row: Row
  readonly shard: Shard
}

/** The rows of one server. The oldest row chooses the shard of the next group, so that no shard waits for others. */
class NodeGroups<Row, Result> {
  readonly #commit: (rows: readonly Row[], shard: Shard) => Promise<readonly (Result | Error)[]>
  readonly #maxGroup: number
  readonly #maxInFlight: number
  #queue: PlacedRow<Row, Result>[] = []
  #inFlight = 0
  /** The rows that wait or are in flight, and the most of them recently. */
  #rows = 0
  #peak = 0
  #gathering: NodeJS.Timeout | undefined

  constructor(
    commit: (rows: readonly Row[], shard: Shard) => Promise<readonly (Result | Error)[]>,
    maxGroup: number,
    maxInFlight: number,
  ) {
    this.#commit = commit
    this.#maxGroup = maxGroup
    this.#maxInFlight = maxInFlight
  }

  submit(row: Row, shard: Shard): Promise<Result> {
    const placed = { row, shard, ...Promise.withResolvers<Result>() }
    this.#queue.push(placed)
    this.#peak = Math.max(this.#peak, ++this.#rows)
    this.#start()
    return placed.promise
  }

  #start(): void {
    if (this.#inFlight >= this.#maxInFlight || this.#queue.length === 0) return
    if (this.#queue.length >= this.#peak * GATHERED) this.#flush()
    else this.#gathering ??= setTimeout(() => this.#flush(), MAX_GATHER)
  }

  #flush(): void {
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    const shard = this.#queue[0]?.shard
    if (shard === undefined) return
    const group: PlacedRow<Row, Result>[] = []
    const others: PlacedRow<Row, Result>[] = []
    for (const placed of this.#queue) {
      const isIn = placed.shard.number === shard.number && group.length < this.#maxGroup
      if (isIn) group.push(placed)
      else others.push(placed)
    }
    this.#queue = others
    this.#inFlight++
    const rows = group.map(({ row }) => row)
    this.#commit(rows, shard).then(
      (results) => this.#settle(group, results),
      (error: Error) => this.#settle(group, Array(group.length).fill(error)),
    )
    this.#start()
  }

  #settle(group: readonly PlacedRow<Row, Result>[], results: readonly (Result | Error)[]): void {
    this.#inFlight--
    this.#rows -= group.length
    this.#peak -= this.#peak / PEAK_DECAY
    // Starts the next commit first, so that it runs while this one's callers get their results.
    this.#start()
    for (const [i, { resolve, reject }] of group.entries()) {
      const result = results[i]
      if (result === undefined || result instanceof Error) reject(result ?? new Error('a row has no result'))
      else resolve(result)
    }
  }
}
