import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { connected, MODES } from '../support/agents.ts'
import { freePort } from '../support/free-port.ts'
import { assertEnded, PROGRAM, Program, run } from '../support/process.ts'
import { emptyService, SECRET, type Service, withService } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

const urlOf = ({ port }: Service): string => `http://127.0.0.1:${port}`

for (const mode of MODES) {
  test(`the official client, ${JSON.stringify(mode)}, uses a service by the command`, async (t) => {
    const service = await withService(t, { mcp: 'on' })
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, 'mcp', '--url', urlOf(service)],
      env: { PLANTSTORE_TOKEN: SECRET },
    })
    const agent = await connected(t, transport, mode)
    assert.ok((await agent.names()).includes('create_plant'))
    const id = '9007199254740993'
    await agent.call('create_plant', { id, name: 'Ginkgo' })
    assert.deepEqual((await agent.call('get_plant', { id }))['plant'], { id, name: 'Ginkgo' })
    assert.equal((await agent.refusal('get_plant', { id: '8' })).error, 40402)
    const { etag } = await agent.call('get_plant', { id })
    await agent.call('update_plant', { id, etag, name: 'Ginkgo biloba' })
    const [action, ...others] = (await service.store.actions?.list({}, 10)) ?? []
    assert.deepEqual([action?.title, action?.created, action?.updated, others], ['agent', 1, 1, []])
  })
}

suite('plantstore mcp', () => {
  type Answer = { readonly id: unknown; readonly error?: { readonly code: number; readonly message: string } }
  /** Runs the command with lines on its standard input, and returns the answers by their ids. */
  async function answersTo(t: TestContext, url: string, lines: readonly (string | Buffer)[], token = SECRET) {
    const program = new Program(t, ['mcp', '--url', url], { env: { PLANTSTORE_TOKEN: token }, hasInput: true })
    program.child.stdin?.end(Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from('\n')])))
    const { code, stdout, stderr } = await program.outcome
    assert.equal(code, 0, stderr)
    const answers = (stdout.match(/[^\n]+/g) ?? []).map((line) => JSON.parse(line) as Answer)
    return { answers, stdout, stderr }
  }
  const ping = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })

  onEmpty(
    'answers each line in order, also no JSON and no message, and ends with its input',
    { mcp: 'on' },
    async (service, t) => {
      const lines = [ping(1), '', '{', ping(2), 'null', '7', '"x"', `[${ping(1)}]`, ping(3)]
      const { answers } = await answersTo(t, urlOf(service), lines)
      const found = answers.map(({ id, error }) => [id, error?.code])
      const noMessage = Array(4).fill([null, -32600])
      assert.deepEqual(found, [[1, undefined], [null, -32700], [2, undefined], ...noMessage, [3, undefined]])
    },
  )

  test('answers a line beyond what the service takes with its id, and one beyond 1 MiB without, and goes on', async (t) => {
    const service = await emptyService({ mcp: 'on' })
    const creating = (id: number, length: number) => {
      const params = { name: 'create_plant', arguments: { id: String(id), name: 'x'.repeat(length) } }
      return JSON.stringify({ method: 'tools/call', params, jsonrpc: '2.0', id })
    }
    const lines = [creating(1, 17_000), creating(2, 1_000_000), creating(3, 1_100_000), 'x'.repeat(5_000_000), ping(4)]
    const { answers } = await answersTo(t, urlOf(service), lines)
    const found = answers.map(({ id, error }) => [id, error?.code, error?.message])
    assert.deepEqual(found, [
      ...[1, 2].map((id) => [id, -32000, 'error 41301: the body is larger than 16384 bytes']),
      ...Array(2).fill([null, -32000, 'the line is longer than 1048576 bytes']),
      [4, undefined, undefined],
    ])
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('takes a line that comes byte by byte, and one without an end', { mcp: 'on' }, async (service, t) => {
    const program = new Program(t, ['mcp', '--url', urlOf(service)], {
      env: { PLANTSTORE_TOKEN: SECRET },
      hasInput: true,
    })
    for (const byte of Buffer.from(`${ping(1)}\r\n${ping(2)}`)) program.child.stdin?.write(Buffer.of(byte))
    await program.says((stdout) => (stdout.includes('"id":1') ? true : undefined))
    program.child.stdin?.end()
    const { code, stdout } = await program.outcome
    assert.equal(code, 0)
    assert.match(stdout, /"id":1}\s+.*"id":2}\s+$/)
  })

  test('passes the bytes of a text as they are, also line separators of Unicode and what is not UTF-8', async (t) => {
    const service = await emptyService({ mcp: 'on' })
    const create = (id: number, name: string) => {
      const params = { name: 'create_plant', arguments: { id: String(id), name } }
      return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
    }
    const name = 'Ginkgo\u2028biloba\u2029\u0085 🌱'
    const { answers } = await answersTo(t, urlOf(service), [create(1, name), Buffer.from(create(2, 'ÿ'), 'latin1')])
    const found = answers.map(({ id, error }) => [id, error?.code])
    assert.deepEqual(found, [
      [1, undefined],
      [2, -32700],
    ])
    assert.match(answers[1]?.error?.message ?? '', /^error 40001: /)
    assert.deepEqual(await service.plants(), [{ id: 1n, name, tag: null }])
  })

  test('passes an id on as it is, also one that JSON.parse would round, where the service refuses or is away', async (t) => {
    const service = await emptyService({ mcp: 'on' })
    const line = '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'
    for (const [url, token] of [
      [urlOf(service), SECRET],
      [urlOf(service), 'a-wrong-token'],
      [`http://127.0.0.1:${await freePort()}`, SECRET],
    ] as const) {
      const { stdout } = await answersTo(t, url, [line], token)
      assert.match(stdout, /"id":9007199254740993[,}]/)
    }
  })

  test('answers what HTTP refuses by errors of JSON-RPC, and notifications on standard error', async (t) => {
    const service = await emptyService({ mcp: 'on' })
    const notification = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const { answers, stderr } = await answersTo(t, urlOf(service), [ping(1), notification], 'a-wrong-token')
    const found = answers.map(({ id, error }) => [id, error?.code, error?.message])
    assert.deepEqual(found, [[1, -32000, 'error 40102: the access token is malformed, unknown or revoked']])
    assert.match(stderr, /^plantstore: error 40102: /m)
  })

  test('says that the service needs --mcp on, or that nothing answers', async (t) => {
    const off = await answersTo(t, urlOf(await emptyService()), [ping(1)])
    assert.match(off.answers[0]?.error?.message ?? '', /^error 40401: .*needs --mcp on$/)
    const away = await answersTo(t, `http://127.0.0.1:${await freePort()}`, [ping(1)])
    assert.match(away.answers[0]?.error?.message ?? '', /nothing answers there; is the service running\?$/)
  })

  test('needs the address of a service', async (t) => {
    assertEnded(await run(t, ['mcp']), 2, /--url: give the address of the service/)
  })
})
