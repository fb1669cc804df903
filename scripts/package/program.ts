import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../repository.ts'
import { bundledPackages } from './dependencies.ts'
import { aboutProject, manifest } from './pack.ts'

/** Files of the program that are not TypeScript. They keep their paths, by which the program finds them. */
const COPIED = [
  'sql',
  'src/http/request/contract.generated.json',
  'web/dist',
  'web/dist-docs',
  'bin/plantstore.js',
  'monitoring',
  'LICENSE',
  'CHANGELOG.md',
]

/**
 * Writes the program into a folder: as JavaScript with types, because Node.js runs no TypeScript in `node_modules`, and
 * with the packages that it imports, but without Node.js.
 */
export function writeProgram(folder: string): void {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.package.json', '--outDir', folder], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  for (const path of globSync(['bin/*.js', '{client,src}/**/*.{js,d.ts}'], { cwd: folder }))
    nameJavaScript(join(folder, path))
  for (const path of bundledPackages()) copyPackage(path, folder)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`)
}

/** Copies a package without files that never run: tests, examples, types, sources and their maps are 9 of 16 MB. */
function copyPackage(path: string, folder: string): void {
  const unneeded = /\/(?:test|tests|benchmarks?|examples|docs|\.github)$|\.(?:map|[mc]?ts)$/
  cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter: (source) => !unneeded.test(source) })
}

/** Replaces `.ts` by `.js` in relative paths. The compiler does so in imports, but not in types and URLs of threads. */
function nameJavaScript(path: string): void {
  const text = readFileSync(path, 'utf8')
  const changed = text.replaceAll(/(['"]\.{1,2}\/[^'"\n]*)\.ts(?=['"])/g, '$1.js')
  if (changed !== text) writeFileSync(path, changed)
}

/**
 * The manifest of the package, without scripts and development dependencies. The package contains its dependencies, so
 * that people install the versions that were tested.
 */
export function publishedManifest() {
  const { name, version, description, license, engines, bin, dependencies = {} } = manifest()
  return {
    name,
    version,
    description,
    license,
    ...aboutProject(),
    type: 'module',
    engines,
    bin,
    exports: {
      '.': { types: './src/cli/main.d.ts', default: './src/cli/main.js' },
      './package.json': './package.json',
    },
    files: ['bin', 'client', 'src', 'sql', 'web', 'monitoring', 'CHANGELOG.md'],
    dependencies,
    bundleDependencies: Object.keys(dependencies),
  }
}
