// `npm run package`: makes all packages in dist/. `npm run package -- npm` makes the npm package alone, and `client` the
// one of the client.
import { mkdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { makeBundles } from './bundles.ts'
import { executable } from './package/executable.ts'
import { clientPackage, npmPackage } from './package/npm-package.ts'
import { tarball } from './package/tarball.ts'
import { ROOT } from './repository.ts'

const OUT = join(ROOT, 'dist')

/** Each function makes its file in an existing folder, and returns the path. */
const KINDS: Readonly<Record<string, (out: string) => string | Promise<string>>> = {
  npm: npmPackage,
  client: clientPackage,
  tarball,
  executable,
}

const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(KINDS)
const unknown = wanted.filter((kind) => !Object.hasOwn(KINDS, kind))
if (unknown.length > 0) {
  console.error(`package: there is no kind ${unknown.join(', ')}; there is ${Object.keys(KINDS).join(', ')}`)
  process.exitCode = 2
} else {
  await makeBundles()
  mkdirSync(OUT, { recursive: true })
  for (const kind of wanted) {
    const path = (await KINDS[kind]?.(OUT)) ?? ''
    console.log(`${relative(ROOT, path)} (${(statSync(path).size / 1e6).toFixed(1)} MB)`)
  }
}
