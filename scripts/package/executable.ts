import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { filesOf, ROOT } from '../repository.ts'
import { manifest } from './program.ts'

/** Modules that read files beside them, and the modules that replace them in the executable. */
const REPLACED: Readonly<Record<string, string>> = {
  'src/base/assets.ts': 'packaging/executable/assets.ts',
  'src/sqlite/worker/start-thread.ts': 'packaging/executable/start-thread.ts',
}
/** Files to include in the executable, by their paths in the project. */
const ASSETS = [
  'sql/**/*.sql',
  'web/dist-docs/*',
  'web/dist/*',
  'src/http/request/contract.generated.json',
  'package.json',
]

/** Makes one executable file of the program and of the Node.js that runs this script. @returns its path */
export async function executable(out: string): Promise<string> {
  const suffix = process.platform === 'win32' ? '.exe' : ''
  const path = join(out, `plantstore-${manifest().version}-${process.platform}-${process.arch}${suffix}`)
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-executable-'))
  try {
    await bundle('packaging/executable/main.ts', join(folder, 'main.js'))
    await bundle('src/sqlite/thread.ts', join(folder, 'thread.js'))
    const config = join(folder, 'config.json')
    writeFileSync(config, JSON.stringify(seaConfig(folder, path)))
    execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] })
    chmodSync(path, 0o755)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return path
}

/** The configuration of the executable (https://nodejs.org/api/single-executable-applications.html). */
function seaConfig(folder: string, output: string): object {
  return {
    main: join(folder, 'main.js'),
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    execArgv: ['--max-semi-space-size=12'],
    assets: {
      'thread.js': join(folder, 'thread.js'),
      ...Object.fromEntries(filesOf(...ASSETS).map((path) => [path, join(ROOT, path)])),
    },
  }
}

/** Bundles a script with all of its imports. */
async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [join(ROOT, entry)],
    outfile,
    absWorkingDir: ROOT,
    tsconfigRaw: {},
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: `node${process.versions.node}`,
    // White space alone, for a quicker start: names stay readable in stacks.
    minifyWhitespace: true,
    legalComments: 'inline',
    external: ['pg-native'],
    plugins: [insideOneFile],
    logLevel: 'error',
  })
}

/** Replaces the modules in REPLACED, and gives each module an address that packaging/executable/assets.ts knows. */
const insideOneFile: Plugin = {
  name: 'inside one file',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const own = relative(ROOT, path).replaceAll('\\', '/')
      if (!own.startsWith('src/')) return undefined
      const used = REPLACED[own] ?? own
      const text = readFileSync(join(ROOT, used), 'utf8')
      return {
        contents: text.replaceAll('import.meta.url', JSON.stringify(`file:///plantstore/${own}`)),
        loader: 'ts',
        resolveDir: join(ROOT, used, '..'),
      }
    })
  },
}
