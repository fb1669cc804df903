import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { test } from 'node:test'
import { cleanUp, type Scene } from '../support/clean-up.ts'
import { tempFolder } from '../support/files.ts'
import { LOOKS, speaking } from '../support/looks.ts'
import { notTestedHere, runs } from '../support/not-tested.ts'
import { DESKTOP, PHONE } from '../support/page.ts'
import { plantSome } from '../support/page-languages.ts'
import { SECRET, withService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** The Firefox of Debian, or any other one of this machine. */
const PROGRAM = ['firefox-esr', 'firefox'].find((name) => runs(name, '--version'))

/** npm brings none, and Playwright drives only its own. */
const hasFirefox = PROGRAM !== undefined

interface Answer {
  readonly id?: number
  readonly type: 'success' | 'error' | 'event'
  readonly result?: object
  readonly message?: string
}

/** A page of Firefox without a window, by WebDriver BiDi, which Firefox speaks itself. */
class Firefox {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #context = ''
  #last = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer)
    })
  }

  /** Starts Firefox with a profile of its own, and ends it with the test. */
  static async start(scene: Scene): Promise<Firefox> {
    const profile = tempFolder(scene)
    const args = ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0']
    const child = spawn(PROGRAM ?? '', args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, HOME: profile },
    })
    cleanUp(scene, () => ended(child))
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const address = () => /WebDriver BiDi listening on (ws:\S+)/.exec(said)?.[1]
    await until(
      () => address() !== undefined,
      () => `Firefox does not start: ${said}`,
    )
    const socket = new WebSocket(`${address()}/session`)
    await new Promise((done, fail) => {
      socket.addEventListener('open', done)
      socket.addEventListener('error', () => fail(new Error(`Firefox does not take ${address()}`)))
    })
    const firefox = new Firefox(socket)
    await firefox.#send('session.new', { capabilities: {} })
    const { contexts } = await firefox.#send<{ contexts: { context: string }[] }>('browsingContext.getTree', {})
    firefox.#context = contexts[0]?.context ?? ''
    return firefox
  }

  async open(url: string): Promise<void> {
    await this.#send('browsingContext.navigate', { context: this.#context, url, wait: 'complete' })
  }

  async resize(viewport: { readonly width: number; readonly height: number }): Promise<void> {
    await this.#send('browsingContext.setViewport', { context: this.#context, viewport })
  }

  /** Evaluates an expression in the page, and returns its value as JSON carries it. */
  async evaluate<T>(expression: string): Promise<T> {
    const target = { context: this.#context }
    const text = `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`
    const answer = await this.#send<{ type: string; result?: { value: string }; exceptionDetails?: { text: string } }>(
      'script.evaluate',
      { expression: text, target, awaitPromise: true },
    )
    assert.equal(answer.type, 'success', answer.exceptionDetails?.text ?? expression)
    return JSON.parse(answer.result?.value ?? 'null') as T
  }

  /** Waits until an expression is true in the page. */
  async until(expression: string): Promise<void> {
    await until(() => this.evaluate<boolean>(`Boolean(${expression})`), `${expression} is not true in Firefox`)
  }

  /** Presses keys, one after the other, in the focused element. Names of WebDriver stand for keys without a letter. */
  async press(...keys: readonly string[]): Promise<void> {
    const actions = keys.flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ])
    await this.#send('input.performActions', {
      context: this.#context,
      actions: [{ type: 'key', id: 'keys', actions }],
    })
  }

  async #send<T extends object>(method: string, params: object): Promise<T> {
    this.#last += 1
    const id = this.#last
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#waiting.set(id, resolve)
    this.#socket.send(JSON.stringify({ id, method, params }))
    const answer = await promise
    this.#waiting.delete(id)
    assert.equal(answer.type, 'success', `${method}: ${answer.message}`)
    return answer.result as T
  }
}

/** Keys without a letter, as WebDriver writes them. */
const ENTER = '\ue007'
const ESCAPE = '\ue00c'

/** Firefox begins to write into its profile again while it ends. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const end = new Promise((done) => child.once('exit', done))
  child.kill('SIGKILL')
  await end
}

test('in Firefox, no control of the list, a selection, an edit or a conflict covers another one, and a second Enter drops nothing', async (t) => {
  if (!hasFirefox) return notTestedHere(t, 'the page at / in Firefox')
  const service = await withService(t)
  await plantSome(service)
  const firefox = await Firefox.start(t)
  await firefox.open(`http://127.0.0.1:${service.port}/#token=${SECRET}`)
  const click = async (selector: string) => {
    await firefox.until(`document.querySelector('${selector}') !== null`)
    await firefox.evaluate(`document.querySelector('${selector}').click()`)
  }
  const row = '[role=row][data-id="3"]'
  for (const size of [DESKTOP, PHONE]) {
    await firefox.resize(size)
    const look = async (what: string, sign: string) => {
      await firefox.until(`document.querySelector('${sign}') !== null`)
      for (const language of ['en', 'de']) {
        await firefox.evaluate(speaking(language))
        await firefox.until(`document.documentElement.lang === '${language}'`)
        assert.deepEqual(await firefox.evaluate(LOOKS), [], `${what}, ${language}, ${size.width} pixels`)
      }
    }
    await look('the list', row)
    await click(`${row} input[type=checkbox]`)
    await look('a selection', '.selection')
    await click('.selection .clear')
    await click(`${row} .actions button`)
    await look('an edit', `${row} textarea`)
    await firefox.until(`document.activeElement.matches('${row} textarea')`)
    await firefox.press('x')
    const typed = await firefox.evaluate<string>('document.activeElement.value')
    await service.sendJson('PATCH', '/plants/3', { tag: `of others, ${size.width}` })
    await firefox.press(ENTER)
    await look('a conflict', 'dialog .versions')
    // A second Enter clicks what has the focus. A Firefox without a window has no focus of the system, and clicks nothing.
    await firefox.evaluate('document.activeElement.click()')
    await firefox.until(`document.activeElement.matches('${row} textarea')`)
    assert.equal(await firefox.evaluate('document.activeElement.value'), typed)
    assert.match(
      (await service.send('GET', '/plants/3')).body,
      new RegExp(`"Ἄβρωτον","tag":"of others, ${size.width}"`),
    )
    await firefox.press(ESCAPE)
  }
})
