import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { suite, type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { SourceCoverage } from './support/coverage.ts'
import { SECRET, withService } from './support/service.ts'

const GUIDE = readFileSync(new URL('../CONTRIBUTING.md', import.meta.url), 'utf8')

/** The files that CONTRIBUTING.md names for a request, relative to src. */
function filesIn(heading: string): string[] {
  const section = GUIDE.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? assert.fail(heading)
  return [...section.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, file = '']) => file).sort()
}

/** Fewer creates than make the store move its commits to the thread, even on a slow disk. */
const ROUNDS = 4
/** Milliseconds that the search index may take to catch up with the wanted plant. */
const CATCH_UP = 20_000

type Send = (method: string, path: string, body?: string) => Promise<void>

async function serve(t: TestContext): Promise<Send> {
  const { port } = await withService(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const headers = { Authorization: `Bearer ${SECRET}`, 'Content-Type': 'application/json' }
  return async (method, path, body) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent }).end(body)
    const [answer]: IncomingMessage[] = await once(sent, 'response')
    assert.ok(answer !== undefined)
    const said = await text(answer)
    assert.equal(answer.statusCode, 200, said)
  }
}

const create = (send: Send, id: number) =>
  send('POST', '/plants', JSON.stringify({ id, name: 'Fern, green, old, tall, wide', tag: 'shade' }))

suite('CONTRIBUTING.md names exactly the files', () => {
  test('that a create runs', async (t) => {
    const send = await serve(t)
    await create(send, -1)
    const coverage = await SourceCoverage.start(t)
    const named = filesIn('The way of a create')
    // The indexer runs in its thread during or after each create.
    const deadline = performance.now() + CATCH_UP
    let id = 0
    let files: string[]
    do files = [...(await coverage.filesOf(() => create(send, id++), ROUNDS))].sort()
    while (!isDeepStrictEqual(files, named) && performance.now() < deadline)
    assert.deepEqual(files, named)
  })

  test('that a search runs', async (t) => {
    const send = await serve(t)
    const search = (round: number) => send('GET', `/plants?q=fern+${['green', 'old', 'tall', 'wide'][round]}`)
    await create(send, 100)
    await search(0)
    const coverage = await SourceCoverage.start(t)
    const named = filesIn('The way of a search')
    const deadline = performance.now() + CATCH_UP
    let files: string[]
    do files = [...(await coverage.filesOf(search, ROUNDS))].sort()
    while (!isDeepStrictEqual(files, named) && performance.now() < deadline)
    assert.deepEqual(files, named)
  })
})
