import { GroupCommit, type GroupCommitOptions, queueFull } from '../../base/group-commit.ts'
import { AppError } from '../../domain/errors.ts'
import type { Shard } from './shard-map.ts'
import type { Shards } from './shards.ts'

/**
 * Concurrent groups on all servers together, but at least one on each: a server that hangs then delays no other one.
 * With twice as many, groups are smaller, and a create costs the database a quarter more.
 */
const GROUPS = 2

export type Commit<Row, Result> = (rows: readonly Row[]) => Promise<readonly (Result | Error)[]>

export interface ShardGroupsOptions<Row> extends GroupCommitOptions<Row> {
  idOf(row: Row): bigint
}

interface Placed<Row> {
  readonly row: Row
  readonly shard: Shard
}

/**
 * A GroupCommit that puts only rows of one shard into a group, where the plants are distributed. Citus commits such a
 * group on one server. A group on several shards needs a two-phase commit of the coordinator.
 */
export class ShardGroups<Row, Result> {
  readonly #shards: Shards
  readonly #commit: Commit<Row, Result>
  readonly #options: ShardGroupsOptions<Row>
  /** For plants that are not distributed. */
  readonly #whole: GroupCommit<Row, Result>
  readonly #nodes = new Map<string, GroupCommit<Placed<Row>, Result>>()
  #waiting = 0
  #weight = 0
  #isClosed = false

  constructor(shards: Shards, commit: Commit<Row, Result>, options: ShardGroupsOptions<Row>) {
    this.#shards = shards
    this.#commit = commit
    this.#options = options
    this.#whole = new GroupCommit(commit, { ...options, maxGather: 0 })
  }

  /** See GroupCommit.submit. @throws AppError 50301 also when the server of the row is out of reach */
  async submit(row: Row): Promise<Result> {
    const { map } = this.#shards
    if (map === undefined) return this.#whole.submit(row)
    const { weigh, idOf, maxWaiting, maxWeight } = this.#options
    const shard = map.shardOf(idOf(row))
    const weight = weigh(row)
    const isFull = this.#waiting >= maxWaiting || (this.#weight > 0 && this.#weight + weight > maxWeight)
    const refusal = this.#isClosed ? undefined : isFull ? queueFull() : this.#shards.refusalOf(shard)
    if (refusal !== undefined) throw refusal
    this.#waiting++
    this.#weight += weight
    try {
      return await this.#groupsOf(shard.node).submit({ row, shard })
    } finally {
      this.#waiting--
      this.#weight -= weight
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#whole, ...this.#nodes.values()].map((groups) => groups.close()))
  }

  get waiting(): number {
    return this.#whole.waiting + this.#waiting
  }

  get weight(): number {
    return this.#whole.weight + this.#weight
  }

  #groupsOf(node: string): GroupCommit<Placed<Row>, Result> {
    const known = this.#nodes.get(node)
    if (known !== undefined) return known
    const { maxGroup, maxInFlight, maxGather = 0, stats } = this.#options
    const nodes = this.#shards.map?.nodes.length ?? 1
    const groups = new GroupCommit<Placed<Row>, Result>((placed) => this.#commitOn(placed), {
      ...(stats === undefined ? {} : { stats }),
      maxWaiting: Number.POSITIVE_INFINITY,
      maxWeight: Number.POSITIVE_INFINITY,
      maxGroup,
      maxGather,
      maxInFlight: Math.min(maxInFlight, Math.ceil(GROUPS / nodes)),
      keyOf: ({ shard }) => shard.number,
      weigh: () => 1,
    })
    this.#nodes.set(node, groups)
    if (this.#isClosed) void groups.close()
    return groups
  }

  async #commitOn(placed: readonly Placed<Row>[]): Promise<readonly (Result | Error)[]> {
    const shard = placed[0]?.shard
    if (shard === undefined) return []
    // The server may have failed while the rows waited.
    const refusal = this.#shards.refusalOf(shard)
    if (refusal !== undefined) return placed.map(() => refusal)
    try {
      return await this.#commit(placed.map(({ row }) => row))
    } catch (error) {
      this.#shards.failed(shard, error instanceof AppError ? error.cause : error)
      throw error
    }
  }
}
