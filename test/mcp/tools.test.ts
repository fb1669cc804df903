import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { AgentCaller } from '../../src/http/resources/agents.ts'
import { agentsEndpoint } from '../../src/mcp/endpoint.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { agentOf, callMessage, callTool, MESSAGE_HEADERS, MODES } from '../support/agents.ts'
import { contract } from '../support/conforms.ts'
import { pluck } from '../support/pluck.ts'
import { emptyService, SECRET } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'
import { withSlowSearches } from '../support/slow-searches.ts'

const READ = ['get_history', 'get_plant', 'list_actions', 'list_deleted', 'list_tags', 'search_plants']
const DELETE = ['delete_plant', 'undo_action']
const WRITE = ['check_import', 'create_plant', 'update_plant']
const TEXT = { type: 'string' }
const LARGE = '9007199254740993'

for (const mode of MODES) {
  suite(`the official client, ${JSON.stringify(mode)}`, () => {
    onService('calls every tool, with ids exact as text', { mcp: 'delete' }, async (service, t) => {
      const agent = await agentOf(t, service, mode)
      assert.deepEqual(await agent.names(), [...READ, ...WRITE, ...DELETE].sort())
      const made = await agent.call('create_plant', { id: LARGE, name: 'Ginkgo', tag: 'tree' })
      assert.deepEqual(made['plant'], { name: 'Ginkgo', tag: 'tree' })
      const { plant, etag } = await agent.call('get_plant', { id: LARGE })
      assert.deepEqual(plant, { id: LARGE, name: 'Ginkgo', tag: 'tree' })
      const changed = await agent.call('update_plant', { id: LARGE, etag, tag: null })
      assert.deepEqual(changed['plant'], { id: LARGE, name: 'Ginkgo' })
      assert.equal((await agent.refusal('update_plant', { id: LARGE, etag, name: 'x' })).error, 41201)
      assert.deepEqual(await agent.call('search_plants', { q: 'gin', count: true }), {
        plants: [{ id: LARGE, name: 'Ginkgo' }],
        total: 1,
        totalIsExact: true,
      })
      const { entries } = await agent.call('get_history', { id: LARGE })
      const shown = (entries as { type: string; plant: { id: string } }[]).map(({ type, plant: { id } }) => [type, id])
      assert.deepEqual(shown, [
        ['plant.updated', LARGE],
        ['plant.created', LARGE],
      ])
      assert.deepEqual(await agent.call('delete_plant', { id: LARGE, etag: changed['etag'] }), { deleted: true })
      assert.equal((await agent.refusal('get_plant', { id: LARGE })).error, 40402)
      const { entries: gone, since } = await agent.call('list_deleted', { q: 'gin' })
      assert.deepEqual(pluck(gone as { before: object }[], 'before'), [{ id: LARGE, name: 'Ginkgo' }])
      assert.match(String(since), /^\d{4}-/)
      assert.deepEqual((await agent.call('search_plants', { sort: '-changed' }))['plants'], [])
    })
  })
}

suite('the tools', () => {
  onEmpty('are those of the scopes, but delete only as the operator allows', { mcp: 'on' }, async (service, t) => {
    const namesWith = async (scopes: Parameters<typeof service.issueToken>[0]) => {
      const { secret } = await service.issueToken(scopes)
      return (await agentOf(t, service, MODES[0], secret)).names()
    }
    assert.deepEqual(await namesWith(['plants:read']), READ)
    assert.deepEqual(await namesWith(['plants:write']), WRITE)
    assert.deepEqual(await namesWith(['plants:read', 'plants:write']), [...READ, ...WRITE].sort())
    assert.deepEqual(await namesWith(['webhooks']), [])
  })

  test('have their results written in turns of the event loop, one long one in each round', async () => {
    const agents = agentsEndpoint('test', contract.document, true, assert.fail)
    const body = JSON.stringify(Array.from({ length: 50 }, () => '\u0001'.repeat(1000)))
    const answer = async () => ({ status: 200, headers: {}, body })
    const caller: AgentCaller = { may: () => true, call: answer, refuse: answer }
    const headers = { ...MESSAGE_HEADERS, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'get_history' }
    let round = 0
    const count = () => {
      round++
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    const answered = async () => {
      const request = new Request('http://localhost/mcp', { method: 'POST', headers })
      await agents.answer(request, callMessage('get_history', { id: '1', limit: 50 }), caller)
      return round
    }
    const rounds = await Promise.all(Array.from({ length: 8 }, answered))
    clearImmediate(counting)
    assert.equal(new Set(rounds).size, 8, `answers in the rounds ${rounds}`)
  })

  test('hint what each does: reads change nothing, and only a change or a delete destroys', () => {
    const destructive = Object.keys(TOOLS).filter((name) => TOOLS[name]?.hints.destructiveHint)
    const readOnly = Object.keys(TOOLS).filter((name) => TOOLS[name]?.hints.readOnlyHint)
    assert.deepEqual(destructive.sort(), [...DELETE, 'update_plant'])
    assert.deepEqual(readOnly.sort(), ['check_import', ...READ])
    for (const { hints } of Object.values(TOOLS)) assert.ok(hints.idempotentHint && hints.openWorldHint === false)
  })

  test('list what was done together, undo it once, and again after a redo', async (t) => {
    const service = await emptyService({ mcp: 'delete' })
    const rows = '{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n'
    await service.importFile(rows, { headers: { 'Plantstore-Action': 'work' } })
    const agent = await agentOf(t, service)
    const [action] = (await agent.call('list_actions'))['actions'] as { id: string; created: number }[]
    assert.deepEqual([action?.id, action?.created], ['work', 2])
    const report = { restored: 2, left: 0, leftPlants: [] }
    const tried = await agent.call('undo_action', { id: 'work', dryRun: true })
    assert.deepEqual(tried['report'], { dryRun: true, ...report })
    const undo = async (id: string | undefined, restored: number, plants: number) => {
      const done = (await agent.call('undo_action', { id }))['report'] as typeof report
      assert.deepEqual([done.restored, done.left], [restored, 2 - restored])
      assert.equal((await service.plants()).length, plants)
    }
    await undo('work', 2, 0)
    await undo('work', 0, 0)
    const actions = (await agent.call('list_actions'))['actions'] as { id: string; undoes?: string }[]
    await undo(actions.find(({ undoes }) => undoes === 'work')?.id, 2, 2)
    await undo('work', 2, 0)
    assert.equal((await agent.refusal('undo_action', { id: 'none' })).error, 40402)
  })

  onEmpty('that say so change nothing when they are called again', { mcp: 'delete' }, async (service, t) => {
    const agent = await agentOf(t, service)
    const plant = { id: '7', name: 'Ginkgo' }
    const { etag } = await agent.call('create_plant', plant)
    await agent.call('create_plant', plant)
    const change = { id: '7', etag, name: 'Ginkgo biloba' }
    await agent.call('update_plant', change)
    const before = await service.plants()
    assert.equal((await agent.refusal('update_plant', change)).error, 41201)
    await agent.call('check_import', { format: 'csv', content: 'id,name\n8,Fern\n' })
    assert.deepEqual(await service.plants(), before)
    assert.deepEqual((await agent.call('get_history', { id: '7', limit: 1 }))['next'] === undefined, false)
  })

  onEmpty('page by next, and bound a page', { mcp: 'on' }, async (service, t) => {
    for (let id = 1; id <= 25; id++) await service.create({ id, name: `plant ${id}`, tag: `tag ${id % 3}` })
    const agent = await agentOf(t, service)
    const first = await agent.call('search_plants')
    assert.equal((first['plants'] as unknown[]).length, 20)
    const rest = await agent.call('search_plants', { cursor: first['next'] })
    assert.deepEqual([(rest['plants'] as unknown[]).length, rest['next']], [5, undefined])
    const tagged = await agent.call('search_plants', { tag: ['tag 1', 'tag 2'], sort: '-id', limit: 2 })
    assert.deepEqual(pluck(tagged['plants'] as { id: string }[], 'id'), ['25', '23'])
    assert.deepEqual(await agent.call('list_tags', { limit: 1 }), {
      tags: [{ tag: 'tag 0', plants: 8 }],
      next: (await agent.call('list_tags', { limit: 1 }))['next'],
    })
    assert.deepEqual((await agent.call('list_tags', { prefix: 'tag', q: '1' }))['tags'], [{ tag: 'tag 1', plants: 9 }])
    assert.match((await agent.refusal('search_plants', { limit: 51 })).message, /limit must be at most 50/)
  })

  onEmpty('check a file with ids as numbers or texts, and store nothing', { mcp: 'on' }, async (service, t) => {
    const agent = await agentOf(t, service)
    const content = `{"id":"${LARGE}","name":"a"}\n{"id":2,"name":"b"}\n{"id":3}\n`
    const { report } = await agent.call('check_import', { format: 'ndjson', content })
    const { dryRun, added, refused } = report as Record<string, unknown>
    assert.deepEqual([dryRun, added, refused], [true, 2, 1])
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('keep every text as it is', { mcp: 'on' }, async (service, t) => {
    const agent = await agentOf(t, service)
    const name = ' "id":9007199254740993 \\ \u202e é 𝒳 "id": 7 '
    await agent.call('create_plant', { id: '-9223372036854775808', name, tag: '' })
    const { plants } = await agent.call('search_plants')
    assert.deepEqual(plants, [{ id: '-9223372036854775808', name, tag: '' }])
  })

  test('take what models send for arguments that they leave out, or whose type they miss', async (t) => {
    const service = await emptyService({ mcp: 'on' })
    const agent = await agentOf(t, service)
    await agent.call('create_plant', { id: '7', name: 'Ginkgo', tag: null })
    await agent.call('create_plant', { id: '8', name: 'Fern', tag: 'shade' })
    const found = await agent.call('search_plants', {
      q: null,
      tag: 'shade',
      tagPrefix: null,
      untagged: null,
      sort: null,
      count: 'true',
      limit: '1',
      cursor: null,
    })
    assert.deepEqual(found, { plants: [{ id: '8', name: 'Fern', tag: 'shade' }], total: 1, totalIsExact: true })
    assert.deepEqual((await agent.call('search_plants', { untagged: 'true' }))['plants'], [{ id: '7', name: 'Ginkgo' }])
    const { etag } = await agent.call('get_plant', { id: '8' })
    const changed = await agent.call('update_plant', { id: '8', etag, name: null, tag: null })
    assert.deepEqual(changed['plant'], { id: '8', name: 'Fern' })
    await agent.call('check_import', { format: 'csv', content: 'id,name\n9,x\n', mode: null })
  })

  onEmpty('say the types of their results, in few words', { mcp: 'delete' }, async (service, t) => {
    const { client } = await agentOf(t, service)
    const { tools } = await client.listTools()
    const outputs = new Map(tools.map(({ name, outputSchema }) => [name, outputSchema]))
    assert.equal(outputs.size, Object.keys(TOOLS).length)
    for (const [name, { result }] of Object.entries(TOOLS)) {
      assert.deepEqual(outputs.get(name)?.['required'], [result], name)
    }
    const plant = { type: 'object', required: ['id', 'name'], properties: { id: TEXT, name: TEXT, tag: TEXT } }
    assert.deepEqual(outputs.get('get_plant')?.['properties'], { plant, etag: TEXT })
    const found = JSON.stringify(outputs.get('search_plants'))
    assert.match(found, /"total":{"type":"integer".*"totalIsExact":{"type":"boolean"/)
    assert.ok(JSON.stringify(tools).length < 14_000, `${JSON.stringify(tools).length} characters`)
  })

  test('come with the words that names and tags are of other people', async (t) => {
    const { client } = await agentOf(t, await emptyService({ mcp: 'on' }))
    assert.match(client.getInstructions() ?? '', /Names and tags are the words of other people/)
  })

  test('leave lines in the audit log under the token, the operation and the id of the request', async () => {
    const service = await emptyService({ mcp: 'on' })
    const { secret, token } = await service.issueToken(['plants:write'])
    const authorization = `Bearer ${secret}`
    const plant = { id: '7', name: 'Ginkgo' }
    const calls = [
      ['create_plant', plant],
      ['create_plant', { ...plant, name: 'Fern' }],
      ['update_plant', { id: 7, name: 'Fern' }],
      ['get_plant', { id: '7' }],
      ['delete_plant', { id: '7', etag: 'x' }],
      ['drop_table', {}],
    ] as const
    const ids: unknown[] = []
    for (const [name, given] of calls)
      ids.push((await callTool(service, name, given, { authorization })).headers['x-request-id'])
    const direct = await service.send('PUT', '/plants/7', { authorization, headers: { 'If-Match': '"x"' }, body: '{}' })
    const lines = service.audited.map((line) => JSON.parse(line) as Record<string, unknown>)
    const shown = lines.map(({ operation, outcome, error, plant: id, by }) => [operation, outcome, error, id, by])
    assert.deepEqual(shown, [
      ['createPlant', 'created', undefined, '7', 'agent'],
      ['createPlant', 'refused', 40901, '7', 'agent'],
      ['updatePlant', 'refused', 40003, undefined, 'agent'],
      ['deletePlant', 'refused', 40301, undefined, 'agent'],
      ['callTools', 'refused', 40301, undefined, 'agent'],
      ['replacePlant', 'refused', direct.status === 415 ? 41501 : 40002, undefined, undefined],
    ])
    for (const { token: by, address } of lines) assert.deepEqual([by, address], [token.id, '127.0.0.1'])
    assert.deepEqual(pluck(lines.slice(0, 5), 'req'), [ids[0], ids[1], ids[2], ids[4], ids[5]])
  })

  test('end their work when the client leaves', async (t) => {
    const service = await withSlowSearches(t, { mcp: 'on' }, 30_000)
    const search = { tag: ['-'], q: `${'x'.repeat(100)}y`, sort: 'name', limit: 5 }
    const list = service.store.listPlants.bind(service.store)
    const ended = Promise.withResolvers<unknown>()
    const leaving = new AbortController()
    service.store.listPlants = async (query, limit, signal) => {
      leaving.abort()
      const found = list(query, limit, signal)
      found.then(() => ended.resolve('the search came to its end'), ended.resolve)
      return found
    }
    const headers = { ...MESSAGE_HEADERS, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'search_plants' }
    const sent = fetch(`http://127.0.0.1:${service.port}/mcp`, {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${SECRET}` },
      body: JSON.stringify(callMessage('search_plants', search)),
      signal: leaving.signal,
    })
    await assert.rejects(sent)
    assert.match(String(await ended.promise), /the client closed the connection/)
  })
})
