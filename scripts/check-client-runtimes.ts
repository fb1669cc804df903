// Runs the packed client in Deno, Bun and the Node.js of this machine, against a service of its own for each. Run it by
// hand: it installs the runtimes into a temporary folder, which takes 100 MB and a minute.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { TOUR, tourFrom } from '../test/client/tour.ts'
import { makeBundles } from './bundles.ts'
import { clientPackage } from './package/npm-package.ts'
import { ROOT, report } from './repository.ts'

const TOKEN = 'the-token-of-the-runtime-check-4711'

/** The packages with the program itself, which need no install script. */
const PACKAGES: Readonly<Record<string, { readonly deno: string; readonly bun: string }>> = {
  'linux-x64': { deno: '@deno/linux-x64-glibc', bun: '@oven/bun-linux-x64' },
  'linux-arm64': { deno: '@deno/linux-arm64-glibc', bun: '@oven/bun-linux-aarch64' },
  'darwin-x64': { deno: '@deno/darwin-x64', bun: '@oven/bun-darwin-x64' },
  'darwin-arm64': { deno: '@deno/darwin-arm64', bun: '@oven/bun-darwin-aarch64' },
}

const packages = PACKAGES[`${process.platform}-${process.arch}`]
if (packages === undefined) throw new Error(`there is no Deno or Bun for ${process.platform}-${process.arch} here`)
const folder = mkdtempSync(join(tmpdir(), 'plantstore-'))
try {
  await makeBundles()
  const archive = clientPackage(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const wanted = [archive, packages.deno, packages.bun]
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', ...wanted], { cwd: folder, stdio: 'inherit' })
  writeFileSync(join(folder, 'tour.js'), tourFrom('plantstore-client'))
  const modules = join(folder, 'node_modules')
  const runtimes: readonly (readonly [name: string, ...command: string[]])[] = [
    ['Node.js', 'node'],
    ['Deno', join(modules, packages.deno, 'deno'), 'run', '--allow-net', '--node-modules-dir=manual'],
    ['Bun', join(modules, packages.bun, 'bin/bun')],
  ]
  const faults: string[] = []
  for (const [name, ...command] of runtimes) {
    const fault = await faultOf(command, name)
    console.log(`${name} ${versionOf(command[0] ?? '')}: ${fault ?? 'works'}`)
    if (fault !== undefined) faults.push(`${name}: ${fault}`)
  }
  report(faults, 'the client works in all of them')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function versionOf(program: string): string {
  return execFileSync(program, ['--version'], { encoding: 'utf8', cwd: tmpdir() }).split('\n', 1)[0] ?? ''
}

/** Runs the tour in a runtime, against a new service. */
async function faultOf([program = '', ...args]: readonly string[], name: string): Promise<string | undefined> {
  const store = `sqlite:${join(folder, `${name}.db`)}`
  const serve = [join(ROOT, 'bin/plantstore.js'), 'serve', '--port', '0', '--store', store, '--log-level', 'error']
  const service = spawn(process.execPath, serve, { env: { ...process.env, PLANTSTORE_TOKEN: TOKEN } })
  try {
    let banner = ''
    for await (const chunk of service.stdout) {
      banner += String(chunk)
      if (/curl .*\n/.test(banner)) break
    }
    const url = /http:\/\/[\d.]+:\d+/.exec(banner)?.[0]
    writeFileSync(
      join(folder, 'main.js'),
      `import { PlantstoreClient } from 'plantstore-client'
import { tour } from './tour.js'
console.log(JSON.stringify(await tour(new PlantstoreClient({ url: '${url}', token: '${TOKEN}' }))))`,
    )
    const printed = execFileSync(program, [...args, 'main.js'], { cwd: folder, encoding: 'utf8', timeout: 60_000 })
    return isDeepStrictEqual(JSON.parse(printed), TOUR) ? undefined : `it printed ${printed}`
  } catch (error) {
    return String(error)
  } finally {
    service.kill('SIGKILL')
  }
}
