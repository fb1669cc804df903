import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readConfig } from '../../src/settings/config.ts'
import { callTool } from '../support/agents.ts'
import { contract } from '../support/conforms.ts'
import { Issuer } from '../support/issuer.ts'
import { type Bounds, emptyService, errorOf, type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

const OPEN = { authorization: null }
const HTML = { ...OPEN, headers: { Accept: 'text/html' } }
const METADATA = '/.well-known/oauth-protected-resource'

const below = (more: Bounds = {}) => emptyService({ publicUrl: 'https://example.org/garden', ...more })

suite('a service whose --public-url has a path', () => {
  test('answers with and without the path, as a proxy may leave it or take it off', async () => {
    const service = await below()
    for (const base of ['', '/garden']) {
      assert.deepEqual((await service.send('GET', `${base}/health/ready`, OPEN)).json, { status: 'ready' })
      assert.equal((await service.send('GET', `${base}/plants?limit=3`)).status, 200)
      assert.equal((await service.send('GET', `${base}/metrics`)).status, 200)
      assert.equal((await service.send('OPTIONS', `${base}/plants`, OPEN)).headers.allow, 'GET, HEAD, POST, OPTIONS')
      assert.equal(errorOf(await service.send('GET', `${base}/plants/x`)), 40003)
      assert.match((await service.send('GET', `${base}/`, HTML)).body, /<title>Plantstore</)
    }
    assert.match((await service.send('GET', '/garden', HTML)).body, /<title>Plantstore</)
    assert.match((await service.send('GET', '/garden?', HTML)).body, /<title>Plantstore</)
  })

  test('takes no other path for its own', async () => {
    const service = await below()
    for (const path of [
      ...words`/gardener /gardener/plants /gardenplants /Garden/plants /garden.plants /garden/garden/plants`,
      ...words`/garden//plants //garden/plants /garden%2fplants /%67arden/plants /x/garden/plants`,
      `${METADATA}/gardener`,
      `${METADATA}/garden/plants`,
      `/garden${METADATA}/garden`,
    ]) {
      assert.equal(errorOf(await service.send('GET', path)), 40401, path)
    }
    assert.equal(errorOf(await (await emptyService()).send('GET', '/garden/plants')), 40401)
  })

  for (const base of ['', '/garden']) {
    test(`puts the path before each path in its answers to requests below "${base}/"`, async () => {
      const service = await below()
      await namesPathsBelow(service, base)
      const start = await service.send('GET', `${base}/`, OPEN)
      assert.deepEqual([start.status, start.headers.location], [303, '/garden/openapi.json'])
      const { servers } = (await service.send('GET', `${base}/openapi.json`, OPEN)).json as { servers: unknown }
      assert.deepEqual(servers, [{ url: 'https://example.org/garden' }])
      for (const page of ['/', '/docs', '/docs/']) {
        const { body } = await service.send('GET', base + page, HTML)
        const paths = Array.from(body.matchAll(/(?:href|src)="([^"]*)"/g), ([, path = '']) => path)
        assert.ok(paths.length >= 4, body)
        for (const path of paths) {
          assert.match(path, /^\/garden\/(?:page|docs|openapi)\b/)
          assert.equal((await service.send('GET', path, OPEN)).status, 200, path)
        }
      }
      const page = await service.send('GET', `${base}/`, HTML)
      assert.ok(page.body.includes('<meta name="public-url" content="https://example.org/garden">'))
    })
  }

  test('names the metadata for OAuth with the path behind the well-known one, and serves it there', async (t) => {
    const issuer = await Issuer.start(t)
    const service = await below(issuer.settings)
    const challenge = (await service.send('GET', '/garden/plants', OPEN)).headers['www-authenticate']
    assert.equal(/resource_metadata="(.*?)"/.exec(challenge ?? '')?.[1], `https://example.org${METADATA}/garden`)
    for (const path of [`${METADATA}/garden`, `${METADATA}/garden?`, METADATA, `/garden${METADATA}`]) {
      const { body } = await service.send('GET', path, OPEN)
      assert.match(body, /"resource":"https:\/\/example\.org\/garden"/, path)
      assert.match(body, /"resource_documentation":"https:\/\/example\.org\/garden\/openapi\.json"/)
    }
  })

  onService('has it in several parts', { publicUrl: 'http://example.org/my.garden/plants/' }, async (service) => {
    assert.equal((await service.send('GET', '/my.garden/plants/plants')).status, 200)
    assert.equal(errorOf(await service.send('GET', '/my-garden/plants/plants')), 40401, 'the dot is no pattern')
    const { headers } = await service.create({ id: 1, name: 'Rose' })
    assert.equal(headers['content-location'], '/my.garden/plants/plants/1')
  })
})

test('--public-url refuses a path that begins like one of the service, because a request could mean two things', () => {
  const own = contract.operations.map(({ path }) => path.split('/')[1] ?? '').filter((part) => part !== '')
  for (const part of [...own, 'mcp', 'text-ids', 'llms.txt', 'favicon.ico']) {
    for (const path of [`/${part}`, `/${part}/garden`]) {
      assert.throws(() => readConfig({ publicUrl: `https://example.org${path}` }, {}), {
        name: 'OperatorError',
        exitCode: 2,
        message: `--public-url: the service has paths of its own below /${part}, so its path must begin otherwise`,
      })
    }
  }
})

test('a whole address as the target may have its scheme and host in any case, with a path and without', async (t) => {
  const issuer = await Issuer.start(t)
  const settings = { ...issuer.settings, mcp: 'on' }
  const root = await withService(t, settings)
  const garden = await below(settings)
  for (const origin of ['http://example.org', 'HTTP://EXAMPLE.ORG', 'Https://Example.org:8443']) {
    for (const [service, base] of [[root, ''] as const, [garden, ''] as const, [garden, '/garden'] as const]) {
      const at = origin + base
      for (const path of ['/plants', '/plants?limit=1', '/health/ready', '/openapi.json', '/favicon.ico', METADATA]) {
        assert.equal((await service.send('GET', at + path)).status, 200, at + path)
      }
      assert.match((await service.send('GET', at, HTML)).body, /<title>Plantstore</)
      assert.equal((await callTool(service, 'list_tags', {}, { path: `${at}/mcp` })).status, 200, at)
    }
    assert.equal((await garden.send('GET', `${origin}${METADATA}/garden`, OPEN)).status, 200, origin)
    for (const path of ['/Garden/plants', '/garden/garden/plants', '/PLANTS']) {
      assert.equal(errorOf(await garden.send('GET', origin + path)), 40401, origin + path)
    }
  }
  for (const other of ['http:///garden/plants', 'ftp://example.org/garden/plants', 'HTTP:/garden/plants']) {
    const number = errorOf(await root.send('GET', other))
    assert.equal(errorOf(await garden.send('GET', other)), number, other)
  }
})

/** Checks the paths in the answers of each kind of operation. */
async function namesPathsBelow(service: Service, base: string): Promise<void> {
  const post = (path: string, body: unknown, method = 'POST') => service.sendJson(method, base + path, body)
  const created = await post('/plants', { id: 7, name: 'Rose', tag: 'bed' })
  assert.equal(created.headers['content-location'], '/garden/plants/7')
  const { status, headers } = await post('/plants/8', { id: 8, name: 'Lily', tag: 'pond' }, 'PUT')
  assert.equal(status, 201)
  assert.deepEqual([headers.location, headers['content-location']], Array(2).fill('/garden/plants/8'))
  const list = await service.send('GET', `${base}/plants?limit=1`)
  const next = /^<(\/garden\/plants\?limit=1&[^>]*)>; rel="next"$/.exec(String(list.headers['link']))?.[1] ?? ''
  assert.deepEqual((await service.send('GET', next)).json, [{ id: 8, name: 'Lily', tag: 'pond' }])
  const tags = (await service.send('GET', `${base}/tags?limit=1`)).headers['link']
  assert.match(String(tags), /^<\/garden\/tags\?/)
  assert.match(String((await service.send('GET', `${base}/changes`)).headers['link']), /^<\/garden\/changes\?/)
  await post('/plants/7', { name: 'Rosa' }, 'PATCH')
  const history = (await service.send('GET', `${base}/plants/7/history?limit=1`)).headers['link']
  assert.match(String(history), /^<\/garden\/plants\/7\/history\?/)
  const token = await post('/tokens', { name: 'a gardener', scopes: ['plants:read'] })
  assert.match(String(token.headers.location), /^\/garden\/tokens\/\w+$/)
  const webhook = await post('/webhooks', { url: 'https://example.org/hook' })
  assert.match(String(webhook.headers.location), /^\/garden\/webhooks\/whk_\w+$/)
}

onService('no text of the address becomes markup', { publicUrl: 'https://plants"&amp;.example' }, async (service) => {
  const page = await service.send('GET', '/', HTML)
  assert.ok(page.body.includes('content="https://plants&quot;&amp;amp;.example"'), page.body)
})

onService('without --public-url they name none', async (service) => {
  const { json } = await service.send('GET', '/openapi.json')
  const description = 'The address of the service, as its operator gives it.'
  const variables = { address: { description, default: 'http://127.0.0.1:8080' } }
  assert.deepEqual((json as { servers: unknown }).servers, [{ url: '{address}', variables }])
  assert.doesNotMatch((await service.send('GET', '/', HTML)).body, /<meta name="public-url"/)
})
