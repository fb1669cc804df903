import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { ROOT } from '../repository.ts'
import { manifest } from './pack.ts'
import { writeProgram } from './program.ts'
import { writeRuntime } from './runtime.ts'

/**
 * Makes an archive for Linux with systemd: the program, Node.js, the unit and install.sh.
 *
 * @returns its path
 */
export function tarball(out: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-tarball-'))
  try {
    const tree = writeTree(folder)
    const path = join(out, `${basename(tree)}-linux-${process.arch}.tar.gz`)
    // Fixed owner and order, so that the same files give the same archive.
    const flags = ['--owner=0', '--group=0', '--sort=name']
    execFileSync('tar', ['-czf', path, '-C', folder, ...flags, basename(tree)], { stdio: 'inherit' })
    return path
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Writes the content of the archive into a folder. Its root has another name than the executable file, so that
 * unpacking the archive beside that file does not replace it.
 *
 * @returns the path of its root, `plantstore-VERSION`
 */
function writeTree(folder: string): string {
  if (process.platform !== 'linux') throw new Error('only Linux can make the archive for systemd')
  const tree = join(folder, `plantstore-${manifest().version}`)
  mkdirSync(tree)
  writeProgram(tree)
  writeRuntime(join(tree, 'runtime'))
  const packaging = join(ROOT, 'packaging/systemd')
  cpSync(join(ROOT, 'bin/plantstore'), join(tree, 'bin/plantstore'))
  cpSync(join(packaging, 'install.sh'), join(tree, 'install.sh'))
  for (const name of ['plantstore.service', 'plantstore.conf'])
    cpSync(join(packaging, name), join(tree, 'systemd', name))
  for (const name of ['bin/plantstore', 'install.sh']) chmodSync(join(tree, name), 0o755)
  return tree
}
