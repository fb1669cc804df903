/**
 * PostgreSQL's hashint8 (src/backend/access/hash/hashfunc.c, src/common/hashfn.c), by which Citus places ids on shards.
 * It is the same on every system, as it is part of hash partitions on disk.
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
