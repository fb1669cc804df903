import { isLinux, isRoot, runs } from '../../support/not-tested.ts'

/**
 * Mounts the root of this machine at `$1/root`, with a layer in memory over it. The layer takes all changes, and ends
 * with the mount namespace.
 */
export const LAYERED_ROOT = `
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
for each in proc dev sys; do mount --rbind "/$each" "$1/root/$each"; done
`

/** The command that runs a script as root in its own namespaces. `args` are `$1` and following. */
export const inNamespace = (script: string, ...args: readonly string[]): readonly string[] => [
  'unshare',
  '-m',
  'sh',
  '-e',
  '-c',
  script,
  'sh',
  ...args,
]

export function canLayer(folder: string): boolean {
  const [command = '', ...args] = inNamespace(LAYERED_ROOT, folder)
  return isLinux && isRoot && runs(command, ...args)
}
