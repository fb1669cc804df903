import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { cleanUp } from './clean-up.ts'
import { tempFolder } from './files.ts'
import { isLinux, isRoot, runs } from './not-tested.ts'

/** Bytes. Room for a store's log, which grows to 16 MiB before its pages are copied back, and for some load. */
const DISK_SIZE = 64 * 2 ** 20
export const NO_DISK = 'because no small file system can be mounted'

/** A small file system; undefined where none can be mounted. */
export function smallDisk(t: TestContext): string | undefined {
  const disk = join(tempFolder(t), 'disk')
  mkdirSync(disk)
  if (!(isRoot && isLinux && runs('mount', '-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'plantstore-test', disk)))
    return undefined
  cleanUp(t, () => void execFileSync('umount', ['--lazy', disk]))
  return disk
}

/** Fills the remaining space with one file. */
export function fillDisk(disk: string, name = 'ballast'): void {
  assert.throws(() => writeFileSync(join(disk, name), Buffer.alloc(DISK_SIZE + 1)), { code: 'ENOSPC' })
}
