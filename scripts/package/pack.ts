import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../repository.ts'

/** The manifest of the project or of the client. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly private?: boolean | undefined
  readonly type: string
  readonly engines: object
  readonly keywords: readonly string[]
  readonly repository?: { readonly type: string; readonly url: string }
  readonly bin?: Paths | undefined
  readonly exports?: Paths
  readonly types?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

/** A path in the package, or several by their conditions and names. */
type Paths = string | { readonly [name: string]: Paths }

/** @param folder that has the manifest: the root of the project, or `client` */
export function manifest(folder = '.'): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest
}

/**
 * The address of the project's sources, such as `git+https://github.com/OWNER/NAME.git`. The manifest of the project
 * may state it; else it is that of the repository whose workflow runs. npm publishes a package with provenance only if
 * its manifest names this repository.
 *
 * @returns `undefined` where neither says it, as on a machine of a developer
 */
export function repositoryUrl(): string | undefined {
  return manifest().repository?.url ?? workflowRepository()
}

/** The address of the repository whose workflow runs. */
export function workflowRepository(): string | undefined {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env
  return server && name ? `git+${server}/${name}.git` : undefined
}

/** What the manifests of both packages say of the project. @param directory of the package in the repository */
export function aboutProject(directory?: string) {
  const url = repositoryUrl()
  const { keywords } = manifest()
  if (url === undefined) return { keywords }
  const page = url.replace(/^git\+|\.git$/g, '')
  return { keywords, homepage: `${page}#readme`, bugs: `${page}/issues`, repository: { type: 'git', url, directory } }
}

/**
 * Packs a folder with its manifest, and runs no script. `npm run` passes the `ignore-scripts` of the project on, so
 * that a package which a script has to complete would lack what the script makes.
 *
 * @param out an existing folder for the archive
 * @returns the path of the archive
 * @throws if the manifest names a path that is not in the archive
 */
export function pack(folder: string, { name, version, ...rest }: Manifest, out: string): string {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name, version, ...rest }, null, 2)}\n`)
  const printed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', out], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  })
  const [packed] = JSON.parse(printed) as readonly { readonly files: readonly { readonly path: string }[] }[]
  const there = new Set(packed?.files.map(({ path }) => path))
  const missing = [rest.exports, rest.bin, rest.types].flatMap(pathsIn).filter((path) => !there.has(path))
  if (missing.length > 0)
    throw new Error(`the archive of ${name} lacks ${missing.join(', ')}, which its manifest names`)
  return join(out, `${name}-${version}.tgz`)
}

function pathsIn(paths: Paths | undefined): readonly string[] {
  if (typeof paths === 'string') return [paths.replace(/^\.\//, '')]
  return Object.values(paths ?? {}).flatMap(pathsIn)
}
