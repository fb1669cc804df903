import type { Bound } from '../../base/counts.ts'
import { countCommit, GroupCommit } from '../../base/group-commit.ts'
import { causeOf } from '../errors.ts'
import type { Groups, GroupsOptions } from '../groups.ts'
import type { Shard } from './shard-map.ts'
import type { Shards } from './shards.ts'

type Commit<Row, Result> = (rows: readonly Row[]) => Promise<readonly (Result | Error)[]>

/**
 * Groups the rows of each server by themselves where the plants are distributed, so that a server that hangs delays no
 * other one. A group commits the rows of one shard after those of another: Citus commits each such part on one server,
 * and would need a two-phase commit of the coordinator for several shards.
 */
export class ShardGroups<Row, Result> implements Groups<Row, Result> {
  readonly #shards: Shards
  readonly #commit: Commit<Row, Result>
  readonly #options: GroupsOptions<Row>
  /** For plants that are not distributed. */
  readonly #whole: GroupCommit<Row, Result>
  readonly #nodes = new Map<string, GroupCommit<Row, Result>>()
  #isClosed = false

  constructor(shards: Shards, commit: Commit<Row, Result>, options: GroupsOptions<Row>) {
    this.#shards = shards
    this.#commit = commit
    this.#options = options
    this.#whole = new GroupCommit(commit, options)
  }

  /** See GroupCommit.submit. @throws AppError 50301 also when the server of the row is out of reach */
  submit(row: Row): Promise<Result> {
    const shard = this.#shards.map?.shardOf(this.#options.idOf(row))
    // Once it is closed, it refuses the rows of all servers.
    if (shard === undefined || this.#isClosed) return this.#whole.submit(row)
    const refusal = this.#shards.refusalOf(shard)
    return refusal === undefined ? this.#groupsOn(shard.node).submit(row) : Promise.reject(refusal)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#whole, ...this.#nodes.values()].map((groups) => groups.close()))
  }

  get rows(): Bound {
    return this.#whole.rows
  }

  #groupsOn(node: string): GroupCommit<Row, Result> {
    const known = this.#nodes.get(node)
    if (known !== undefined) return known
    const { stats: _, ...options } = this.#options
    const groups = new GroupCommit<Row, Result>((rows) => this.#commitParts(rows), {
      ...options,
      bound: this.rows,
      maxInFlight: 1,
    })
    this.#nodes.set(node, groups)
    return groups
  }

  async #commitParts(rows: readonly Row[]): Promise<(Result | Error)[]> {
    const { idOf } = this.#options
    const results: (Result | Error)[] = []
    // The shards of the rows may have moved since they came.
    const { map } = this.#shards
    const parts = Map.groupBy(rows.keys(), (i) => map?.shardOf(idOf(rows[i] as Row)))
    for (const [shard, indexes] of parts) {
      const done = await this.#commitPart(
        shard,
        indexes.map((i) => rows[i] as Row),
      )
      for (const [at, i] of indexes.entries()) results[i] = done[at] as Result | Error
    }
    return results
  }

  async #commitPart(shard: Shard | undefined, rows: readonly Row[]): Promise<readonly (Result | Error)[]> {
    // The server may have failed while the rows waited.
    const refusal = shard === undefined ? undefined : this.#shards.refusalOf(shard)
    if (refusal !== undefined) return rows.map(() => refusal)
    const { stats } = this.#options
    const commit = () => this.#commit(rows)
    try {
      return await (stats === undefined ? commit() : countCommit(stats, rows.length, commit))
    } catch (error) {
      if (shard !== undefined) this.#shards.failed(shard, causeOf(error))
      return rows.map(() => error as Error)
    }
  }
}
