/** A part of the plants that lies on one server. */
export interface Shard {
  readonly number: string
  /** The lowest hash of its ids. Its highest one precedes the lowest one of the next shard. */
  readonly first: number
  /** The server of the shard, as `host:port`. */
  readonly node: string
}

/** Finds the shard and the server of an id, as the coordinator knew them at one moment. */
export class ShardMap {
  readonly shards: readonly Shard[]
  readonly nodes: readonly string[]

  /** @param shards at least one */
  constructor(shards: readonly Shard[]) {
    this.shards = shards.toSorted((a, b) => a.first - b.first)
    this.nodes = [...new Set(shards.map(({ node }) => node))].sort()
  }

  shardOf(id: bigint): Shard {
    const hash = hashInt8(id)
    let low = 0
    for (let high = this.shards.length; high - low > 1; ) {
      const middle = (low + high) >>> 1
      if ((this.shards[middle]?.first ?? 0) <= hash) low = middle
      else high = middle
    }
    return this.shards[low] as Shard
  }

  /** Returns an id that lies on a server. A plant with this id need not exist. */
  idOn(node: string): bigint {
    for (let id = 0n; ; id++) if (this.shardOf(id).node === node) return id
  }
}

/**
 * PostgreSQL's hashint8 (src/backend/access/hash/hashfunc.c, src/common/hashfn.c). Citus finds the shard of an id by
 * it. Its values are equal on every system, because hash partitions on disk depend on them.
 *
 * @returns a signed number of 32 bits
 */
export function hashInt8(id: bigint): number {
  const low = Number(BigInt.asIntN(32, id))
  const high = Number(BigInt.asIntN(32, id >> 32n))
  // 0x9e3779b9 + 4 + 3923095
  let a = 0x9e735654 | 0
  let b = a
  let c = a
  a = (a + (low ^ (id >= 0n ? high : ~high))) | 0
  c = ((c ^ b) - rotated(b, 14)) | 0
  a = ((a ^ c) - rotated(c, 11)) | 0
  b = ((b ^ a) - rotated(a, 25)) | 0
  c = ((c ^ b) - rotated(b, 16)) | 0
  a = ((a ^ c) - rotated(c, 4)) | 0
  b = ((b ^ a) - rotated(a, 14)) | 0
  return ((c ^ b) - rotated(b, 24)) | 0
}

const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))
