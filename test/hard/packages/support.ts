import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { programFlags, ROOT } from '../../../scripts/repository.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { blocksOf } from '../../support/guide.ts'
import { TOKEN } from '../../support/process.ts'
import { expectService } from '../../support/recorder.ts'

/** The lines of the guide for one way to install. */
export function linesFor(beginning: string): string {
  const blocks = blocksOf('docs/guides/installing.md').filter(({ language }) => language === 'sh')
  return blocks.find(({ text }) => text.startsWith(beginning))?.text ?? assert.fail(`no block begins: ${beginning}`)
}

/** What the type check says of a file in a folder, as a program that uses a package has it. */
export function faultsOfTypes(folder: string, file: string): string {
  const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom']
  const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), ...flags, '--types', '', file]
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }).stdout
}

interface ServeOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Called once the plant is created. */
  whileServing?(address: string): Promise<void> | void
}

/** Prefers the Node.js of this run to one of the machine. */
const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`

/** Makes the service print its flags. Launchers that are programs of Node.js too print theirs before. */
export const TELL = "process.argv.includes('serve') && console.log('FLAGS ' + process.execArgv)"
export const TELLS_FLAGS = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELL)}` }

/**
 * Starts the service by a command in a folder, creates a plant, finds it, and stops the service by a signal. The service
 * runs with the flags that all ways to start it share. @param command passes TELLS_FLAGS on, if it sets variables alone
 */
export async function createsPlant(
  t: TestContext,
  command: readonly string[],
  folder: string,
  { env = {}, whileServing }: ServeOptions = {},
): Promise<void> {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: folder,
    env: {
      ...process.env,
      PATH,
      PLANTSTORE_PORT: '0',
      PLANTSTORE_TOKEN: TOKEN,
      PLANTSTORE_LOG_LEVEL: 'error',
      ...TELLS_FLAGS,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    // Its own process group, because npx starts the program through a shell.
    detached: true,
  })
  const closed = once(child, 'close')
  cleanUp(t, async () => {
    signal(child, 'SIGKILL')
    await closed
  })
  const { address, flags } = await beginOf(child)
  cleanUp(t, expectService(Number(new URL(address).port)))
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
  const body = '{"id":9007199254740993,"name":"Monstera deliciosa","tag":"houseplant"}'
  const created = await fetch(`${address}/plants`, { method: 'POST', headers, body })
  assert.equal(await created.text(), '{"name":"Monstera deliciosa","tag":"houseplant"}')
  assert.equal(created.status, 200)
  // A search needs the threads, and the page needs the files of the program.
  const found = await fetch(`${address}/plants?q=monst`, { headers })
  assert.equal(await found.text(), `[${body}]`)
  assert.equal((await fetch(`${address}/docs`)).status, 200)
  assert.equal((await fetch(address, { headers: { Accept: 'text/html' } })).status, 200)
  assert.equal(flags, programFlags().join())
  await whileServing?.(address)
  signal(child, 'SIGTERM')
  await closed
}

/** Runs the commands that call a service, which has the one plant of `createsPlant`. */
export async function callsService(
  program: string,
  folder: string,
  address: string,
  env: NodeJS.ProcessEnv = { ...process.env, PATH },
): Promise<void> {
  const run = async (...args: string[]): Promise<string> => {
    const options = { cwd: folder, env: { ...env, PLANTSTORE_TOKEN: TOKEN } }
    const { stdout } = await promisify(execFile)(program, [...args, '--url', address], options)
    return stdout
  }
  const file = 'called.ndjson'
  await run('export', file, '--force')
  assert.match(readFileSync(join(folder, file), 'utf8'), /^\{"id":9007199254740993,.*\}\n$/)
  const again: unknown = JSON.parse(await run('import', file, '--dry-run', '--json'))
  assert.partialDeepStrictEqual(again, { dryRun: true, unchanged: 1, refused: 0 })
  assert.partialDeepStrictEqual(JSON.parse(await run('import', file, '--json')), { unchanged: 1, refused: 0 })
  assert.match(await run('status'), /^service +http:\S+: ready$/m)
}

/** Reads to the end, because `close` comes once the last process of the group has closed the pipe. */
function beginOf({ stdout }: ChildProcess): Promise<{ address: string; flags: string | undefined }> {
  let printed = ''
  return new Promise((resolve, reject) => {
    stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
      const address = /^ {2}Address {2}(http:\S+)$/m.exec(printed)?.[1]
      const flags = [...printed.matchAll(/^FLAGS (.*)$/gm)].at(-1)?.[1]
      if (address !== undefined) resolve({ address, flags })
    })
    stdout?.on('close', () => reject(new Error(`the program ended; it printed ${printed}`)))
  })
}

function signal({ pid, exitCode, signalCode }: ChildProcess, name: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, name)
}
