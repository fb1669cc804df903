import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { filesOf, ROOT } from '../repository.ts'
import { manifest } from './program.ts'

/** What stands in for modules that look for files beside them. */
const REPLACED: Readonly<Record<string, string>> = {
  'src/own-files.ts': 'packaging/executable/own-files.ts',
  'src/sqlite/worker/start-thread.ts': 'packaging/executable/start-thread.ts',
}
/** Files inside the executable, by the same paths as in the project. */
const OWN_FILES = [
  'sql/**/*.sql',
  'src/http/resources/docs-page/*',
  'web/dist/*',
  'src/http/contract.generated.json',
  'package.json',
]

/** Makes one executable file of the program and the Node.js that runs this. @returns its path */
export async function executable(out: string): Promise<string> {
  const suffix = process.platform === 'win32' ? '.exe' : ''
  const path = join(out, `plantstore-${manifest().version}-${process.platform}-${process.arch}${suffix}`)
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-executable-'))
  try {
    await bundle('packaging/executable/main.ts', join(folder, 'main.js'))
    await bundle('src/sqlite/worker/entry.ts', join(folder, 'thread.js'))
    const config = join(folder, 'config.json')
    writeFileSync(config, JSON.stringify(seaConfig(folder, path)))
    execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] })
    chmodSync(path, 0o755)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return path
}

/** https://nodejs.org/api/single-executable-applications.html */
function seaConfig(folder: string, output: string): object {
  return {
    main: join(folder, 'main.js'),
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    execArgv: ['--max-semi-space-size=16'],
    assets: {
      'thread.js': join(folder, 'thread.js'),
      ...Object.fromEntries(filesOf(...OWN_FILES).map((path) => [path, join(ROOT, path)])),
    },
  }
}

/** One script with all that it imports. */
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
    // Compiled for speed of the start: names stay readable in stacks.
    minifyWhitespace: true,
    legalComments: 'inline',
    external: ['pg-native'],
    plugins: [insideOneFile],
    logLevel: 'error',
  })
}

/** Gives each module of the project the address that `packaging/executable/own-files.ts` knows, and puts in what replaces others. */
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
