import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import type { TestContext } from 'node:test'
import { cleanUp } from '../support/clean-up.ts'
import { blocksOf } from '../support/guide.ts'
import { TOKEN } from '../support/process.ts'
import { expectService } from '../support/recorder.ts'

/** The lines of the guide for one way to install. */
export function linesFor(beginning: string): string {
  const blocks = blocksOf('docs/guides/installing.md').filter(({ language }) => language === 'sh')
  return blocks.find(({ text }) => text.startsWith(beginning))?.text ?? assert.fail(`no block begins: ${beginning}`)
}

interface ServeOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Called once the plant is created. */
  whileServing?(): Promise<void> | void
}

/** Starts the service by a command in a folder, creates a plant, finds it, and stops the service by a signal. */
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
      // Prefers the Node.js of this run to one of the machine.
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      PLANTSTORE_PORT: '0',
      PLANTSTORE_TOKEN: TOKEN,
      PLANTSTORE_LOG_LEVEL: 'error',
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
  const address = await addressOf(child)
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
  await whileServing?.()
  signal(child, 'SIGTERM')
  await closed
}

/** Reads to the end, because `close` comes once the last process of the group has closed the pipe. */
function addressOf({ stdout }: ChildProcess): Promise<string> {
  let printed = ''
  return new Promise((resolve, reject) => {
    stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
      const found = /^ {2}Address {2}(http:\S+)$/m.exec(printed)?.[1]
      if (found !== undefined) resolve(found)
    })
    stdout?.on('close', () => reject(new Error(`the program ended; it printed ${printed}`)))
  })
}

function signal({ pid, exitCode, signalCode }: ChildProcess, name: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, name)
}
