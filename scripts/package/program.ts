import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { program } from '../../src/cli/program.ts'
import { ROOT } from '../repository.ts'
import { completions } from './completions.ts'
import { bundledPackages } from './dependencies.ts'
import { manPage } from './man-page.ts'
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

const MAN_PAGE = 'man/man1/plantstore.1'

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
  writeShare(join(folder, 'share'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`)
}

/** Writes what shells and `man` read, below a folder like /usr/share. */
function writeShare(share: string): void {
  const date = /^## \S+ - (\S+)$/m.exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))?.[1] ?? ''
  const page = manPage(program(), manifest().version, date)
  for (const [path, text] of Object.entries({ ...completions(program()), [MAN_PAGE]: page })) {
    mkdirSync(dirname(join(share, path)), { recursive: true })
    writeFileSync(join(share, path), text)
  }
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
    man: `./share/${MAN_PAGE}`,
    exports: {
      '.': { types: './src/cli/main.d.ts', default: './src/cli/main.js' },
      './package.json': './package.json',
    },
    files: ['bin', 'client', 'share', 'src', 'sql', 'web', 'monitoring', 'CHANGELOG.md'],
    dependencies,
    bundleDependencies: Object.keys(dependencies),
  }
}
