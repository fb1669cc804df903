import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../repository.ts'
import { bundledPackages } from './dependencies.ts'

/** Files of the program that are no TypeScript, at the places where the program looks for them. */
const COPIED = [
  'sql',
  'src/http/contract.generated.json',
  'src/http/resources/docs-page',
  'web/dist',
  'bin/plantstore.js',
  'monitoring',
  'LICENSE',
  'CHANGELOG.md',
]

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly engines: object
  readonly bin: object
  readonly dependencies: Readonly<Record<string, string>>
}

/** What package.json says of the program. */
export function manifest(): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
}

/**
 * Puts the program into a folder as JavaScript with types, with the packages that it imports, and without a runtime.
 * Node.js runs no TypeScript in `node_modules`.
 */
export function writeProgram(folder: string): void {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.package.json', '--outDir', folder], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  for (const path of globSync(['bin/*.js', 'src/**/*.{js,d.ts}'], { cwd: folder })) nameJavaScript(join(folder, path))
  for (const path of bundledPackages()) copyPackage(path, folder)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`)
}

/** Leaves out what never runs: tests, examples, types, sources and their maps are 9 of 16 MB. */
function copyPackage(path: string, folder: string): void {
  const unneeded = /\/(?:test|tests|benchmarks?|examples|docs|\.github)$|\.(?:map|[mc]?ts)$/
  cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter: (source) => !unneeded.test(source) })
}

/** The compiler changes what `import` names, but neither in types nor in addresses of threads. */
function nameJavaScript(path: string): void {
  const text = readFileSync(path, 'utf8')
  const changed = text.replaceAll(/(['"]\.{1,2}\/[^'"\n]*)\.ts(?=['"])/g, '$1.js')
  if (changed !== text) writeFileSync(path, changed)
}

/** Without scripts and what only development needs. The packages are inside: what is installed is what was tested. */
function publishedManifest(): object {
  const { name, version, description, license, engines, bin, dependencies } = manifest()
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    engines,
    bin,
    exports: {
      '.': { types: './src/cli/main.d.ts', default: './src/cli/main.js' },
      './package.json': './package.json',
    },
    files: ['bin', 'src', 'sql', 'web', 'monitoring', 'CHANGELOG.md'],
    dependencies,
    bundleDependencies: Object.keys(dependencies),
  }
}
