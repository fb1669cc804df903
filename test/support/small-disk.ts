import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanUp } from './clean-up.ts'
import { tempFolder } from './files.ts'
import { isLinux, isRoot, notTestedHere, runs } from './not-tested.ts'

/** Bytes: room for the log of a store, which grows to 16 MiB before a checkpoint, and for some load. */
const DISK_SIZE = 64 * 2 ** 20

/** Mounts a small file system; undefined if the machine cannot mount one. */
function smallDisk(t: TestContext): string | undefined {
  const disk = join(tempFolder(t), 'disk')
  mkdirSync(disk)
  if (!(isRoot && isLinux && runs('mount', '-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'plantstore-test', disk)))
    return undefined
  cleanUp(t, () => void execFileSync('umount', ['--lazy', disk]))
  return disk
}

/** A test on a small file system. */
export const diskTest = (title: string, work: (t: TestContext, disk: string) => Promise<void> | void) =>
  test(title, (t) => {
    const disk = smallDisk(t)
    return disk === undefined ? notTestedHere(t, `${title}, as no small file system can be mounted`) : work(t, disk)
  })

/** Fills the disk with one file, except for `spared` bytes. */
export function fillDisk(disk: string, name = 'ballast', spared = 0): void {
  const ballast = join(disk, name)
  assert.throws(() => writeFileSync(ballast, Buffer.alloc(DISK_SIZE + 1)), { code: 'ENOSPC' })
  if (spared > 0) truncateSync(ballast, statSync(ballast).size - spared)
}
