import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { filesOf, programFlags, ROOT } from '../repository.ts'
import { manifest } from './pack.ts'

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
/** What Node.js looks for in its own file to see that a program was written into it. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

/** Makes one executable file of the program and of the Node.js that runs this script. @returns its path */
export async function executable(out: string): Promise<string> {
  const suffix = process.platform === 'win32' ? '.exe' : ''
  const path = join(out, `plantstore-${manifest().version}-${process.platform}-${process.arch}${suffix}`)
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-executable-'))
  try {
    await bundle('packaging/executable/main.ts', join(folder, 'main.js'))
    await bundle('src/sqlite/thread.ts', join(folder, 'thread.js'))
    const [config, blob] = [join(folder, 'config.json'), join(folder, 'blob')]
    writeFileSync(config, JSON.stringify(seaConfig(folder, blob)))
    run('--experimental-sea-config', config)
    copyFileSync(process.execPath, path)
    chmodSync(path, 0o755)
    inject(blob, path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return path
}

/**
 * Writes the program into a copy of Node.js. `node --build-sea` would do so alone, but Node.js 24 lacks it. A signature
 * of macOS ends with the change, so the copy gets a new one.
 */
function inject(blob: string, path: string): void {
  const isMac = process.platform === 'darwin'
  if (isMac) execFileSync('codesign', ['--remove-signature', path], { stdio: 'inherit' })
  const segment = isMac ? ['--macho-segment-name', 'NODE_SEA'] : []
  run(join(ROOT, 'node_modules/postject/dist/cli.js'), path, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE, ...segment)
  if (isMac) execFileSync('codesign', ['--sign', '-', path], { stdio: 'inherit' })
}

/** Runs Node.js, and shows what it says only if it fails: postject warns of each section that it does not need. */
function run(...args: readonly string[]): void {
  execFileSync(process.execPath, args, { stdio: 'pipe' })
}

/** The configuration of the executable (https://nodejs.org/api/single-executable-applications.html). */
function seaConfig(folder: string, output: string): object {
  return {
    main: join(folder, 'main.js'),
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    execArgv: programFlags(),
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
