import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, renameSync, writeSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cleanUp } from '../support/clean-up.ts'
import { tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { isLinux, notTestedHere, runs } from '../support/not-tested.ts'
import { type Server, startServer } from '../support/process.ts'
import { boundIn, scrapeAt } from '../support/scrape.ts'
import { until } from '../support/until.ts'

const DEBUG = { PLANTSTORE_LOG_LEVEL: 'debug' }

interface Stuck extends Server {
  /** The descriptor of the pipe's read end, which nobody reads. */
  readonly pipe: number
}

/** A server whose standard error is a pipe that is full from the start. */
async function startStuck(t: TestContext): Promise<Stuck | undefined> {
  const folder = tempFolder(t)
  const path = join(folder, 'log')
  if (!isLinux || !runs('mkfifo', path)) return undefined
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  cleanUp(t, () => closeSync(pipe))
  fill(pipe)
  const under = ['sh', '-c', `exec "$0" "$@" 2> '${path}'`]
  return { pipe, ...(await startServer(t, folder, ['--drain-window', '0s'], { under, env: DEBUG })) }
}

function fill(pipe: number): void {
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(pipe, Buffer.alloc(size, '\n'))
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
    }
  }
}

/** Reads the pipe until `isEnough`. */
async function drain(pipe: number, isEnough: (text: string) => boolean): Promise<string> {
  const buffer = Buffer.alloc(2 ** 16)
  let text = ''
  const hasEnough = () => {
    try {
      text += buffer.toString('utf8', 0, readSync(pipe, buffer))
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
    }
    return isEnough(text)
  }
  await until(hasEnough, () => `too little comes: ${text.trim()}`)
  return text
}

/** Returns the number of dropped lines by the metrics. */
const droppedBy = async (address: string): Promise<number> =>
  boundIn((await scrapeAt(address)).text, 'log-buffer', 'refused_total')

/** More than fit into the megabyte that the log keeps. */
const REQUESTS = 6000

/** Sends so many requests that the log drops lines. */
async function flood(t: TestContext, address: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  t.after(() => agent.destroy())
  for (let sent = 0; sent < REQUESTS; sent += 50) {
    const some = Array.from({ length: 50 }, () => send('GET', `${address}/plants`, { agent }))
    for (const { status } of await Promise.all(some)) assert.equal(status, 200)
  }
}

/** A test of a server whose standard error is a pipe that is full from the start. */
const stuckTest = (title: string, work: (server: Stuck, t: TestContext) => Promise<void>) =>
  test(title, async (t) => {
    const server = await startStuck(t)
    return server === undefined ? notTestedHere(t, `${title}, because no pipe can be made`) : work(server, t)
  })

stuckTest('while nobody reads its log, the service answers and shuts down in order on SIGTERM', async (server) => {
  for (let id = 0; id < 20; id++) {
    const { status } = await send('POST', `${server.address}/plants`, { body: `{"id":${id},"name":"a"}` })
    assert.equal(status, 200)
  }
  await server.program.ends()
})

stuckTest('while nobody reads its log, a second SIGTERM ends the service at once', async (server, t) => {
  server.program.signal('SIGTERM')
  server.program.signal('SIGTERM')
  // The system may merge two signals into one.
  const again = setInterval(() => server.program.signal('SIGTERM'), 20)
  cleanUp(t, () => clearInterval(again))
  assert.equal((await server.program.outcome).code, 130)
})

stuckTest('while nobody reads its log, a failed store ends the service', async (server) => {
  renameSync(server.storePath, `${server.storePath}.away`)
  assert.equal((await server.program.outcome).code, 1)
})

stuckTest(
  'the service drops log lines beyond the bound for a slow reader, and logs their number',
  async (server, t) => {
    await flood(t, server.address)
    const counted = await droppedBy(server.address)
    const text = await drain(server.pipe, (read) => /"dropped":\d+.*\n$/.test(read))
    const lines = text.trim().split(/\n+/)
    const dropped = Number(/"dropped":(\d+)/.exec(lines.at(-1) ?? '')?.[1])
    assert.ok(dropped > 0)
    // Two more lines are about serving and about the metrics.
    assert.equal(lines.length - 1 + dropped, REQUESTS + 2)
    assert.ok(counted > 0 && counted <= dropped, `${counted} of ${dropped} were counted by then`)
    // The test had filled the pipe with newlines.
    const kept = text.trim().length
    assert.ok(kept < 1.2 * 2 ** 20, `${kept} characters were kept`)
  },
)

test('after the reader of its log has gone, the service answers, counts the lines it drops, and shuts down', async (t) => {
  const folder = tempFolder(t)
  const { program, address } = await startServer(t, folder, ['--drain-window', '0s'], { env: DEBUG })
  program.child.stderr?.destroy()
  await flood(t, address)
  assert.ok((await droppedBy(address)) > 0)
  await program.ends()
})

test('on a stopped terminal the service answers and shuts down on SIGTERM', async (t) => {
  const folder = tempFolder(t)
  const terminal = await stuckTerminal(t, join(folder, 'terminal'))
  if (terminal === undefined) return notTestedHere(t, 'a stopped terminal, as there is no command script')
  const under = ['sh', '-c', `exec "$0" "$@" 2> '${terminal}'`]
  const { program, address } = await startServer(t, folder, ['--drain-window', '0s'], { under, env: DEBUG })
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  await program.ends()
})

/** Opens a terminal whose program does not read, as after Ctrl-S, and fills its buffer. @returns its path */
async function stuckTerminal(t: TestContext, note: string): Promise<string | undefined> {
  if (!isLinux || !runs('script', '-qec', 'true', '/dev/null')) return undefined
  const script = spawn('script', [
    '-qec',
    `tty > '${note}.new'; mv '${note}.new' '${note}'; exec sleep 600`,
    '/dev/null',
  ])
  cleanUp(t, () => void script.kill('SIGKILL'))
  await until(() => existsSync(note), 'the terminal does not open')
  const path = readFileSync(note, 'utf8').trim()
  script.kill('SIGSTOP')
  const terminal = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  // The kernel moves some bytes to the program's side later, which makes room again.
  for (let round = 0; round < 20; round++) {
    fill(terminal)
    await sleep(10)
  }
  closeSync(terminal)
  return path
}
