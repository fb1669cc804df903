import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { parse } from 'yaml'
import { ERRORS } from '../../src/domain/errors.ts'
import { contract } from '../support/conforms.ts'
import { assertRefused, errorOf, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

const FREE = { authorization: null }
const SECURITY = '/.well-known/security.txt'

suite('the contract', () => {
  onService('is served with the contents of openapi.yaml', async (service) => {
    const answer = await service.send('GET', '/openapi.json', FREE)
    const { 'x-errors': meanings, ...served } = answer.json as Readonly<Record<string, unknown>>
    assert.deepEqual(served, parse(readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8')))
    assert.deepEqual(meanings, ERRORS)
  })

  onService('is served as a page that loads nothing from other origins', async (service) => {
    const page = await service.send('GET', '/docs', FREE)
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    const files = [...page.body.matchAll(/(?:src|href)="(\/docs[^"]*)"/g)].map(([, target = '']) => target)
    assert.deepEqual(files, ['/docs/page.css', '/docs/icon.svg', '/docs/page.js'])
    assert.ok(!/<script(?![^>]*src=)|<style|\son\w+=/.test(page.body), 'the page contains nothing inline')
    for (const path of files) {
      const file = await service.send('GET', path, FREE)
      assert.equal(file.status, 200, path)
      if (path.endsWith('.css')) assert.ok(!/@import|url\(["']?(?:https?:)?\/\//.test(file.body), path)
    }
  })

  onService('and its page forbid the browser to load from other origins', async (service) => {
    for (const path of ['/docs', '/docs/page.js', '/docs/page.css']) {
      const { headers } = await service.send('GET', path, FREE)
      const policy = String(headers['content-security-policy'])
      assert.match(policy, /^default-src 'none'/)
      assert.ok(!/https?:|\*|unsafe-/.test(policy), policy)
      assert.match(policy, /frame-ancestors 'none'/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
    }
  })

  onService('and its page are revalidated by their entity tags', async (service) => {
    for (const path of ['/openapi.json', '/docs', '/docs/page.js', '/docs/icon.svg']) {
      const { headers, body } = await service.send('GET', path, FREE)
      const { etag = '' } = headers
      assert.match(etag, /^"[0-9a-f]{16}"$/)
      for (const tags of [etag, `"x", W/${etag}`, '*']) {
        const again = await service.send('GET', path, { ...FREE, headers: { 'If-None-Match': tags } })
        assert.deepEqual([again.status, again.body, again.headers.etag], [304, '', etag], path)
      }
      const other = await service.send('GET', path, { ...FREE, headers: { 'If-None-Match': '"x"' } })
      assert.deepEqual([other.status, other.body], [200, body], path)
      assertRefused(await service.send('GET', path, { ...FREE, headers: { 'If-None-Match': 'x' } }), 40003)
    }
  })
})

suite('/favicon.ico', () => {
  onService('is the icon, also without pages, revalidated by its entity tag', { page: 'off' }, async (service) => {
    const { status, headers, body } = await service.send('GET', '/favicon.ico', FREE)
    assert.deepEqual([status, headers['content-type']], [200, 'image/svg+xml'])
    assert.match(body, /^<svg /)
    const known = { ...FREE, headers: { 'If-None-Match': String(headers.etag) } }
    const again = await service.send('GET', '/favicon.ico', known)
    assert.deepEqual([again.status, again.body], [304, ''])
  })
})

suite('/llms.txt', () => {
  test('is one page that links the contract, and has every operation that needs a token', async (t) => {
    const service = await withService(t, { publicUrl: 'https://plants.example' })
    const { status, headers, body } = await service.send('GET', '/llms.txt', FREE)
    assert.deepEqual([status, headers['content-type']], [200, 'text/plain; charset=utf-8'])
    assert.match(body, /^# Plantstore\n\n> /)
    assert.ok(body.split('\n').length < 66, body)
    assert.match(body, /\(https:\/\/plants\.example\/openapi\.json\?ids=text\)/)
    assert.match(body, /\(https:\/\/plants\.example\/docs\)/)
    for (const { method, path, scopes } of contract.operations) {
      if (scopes !== undefined) assert.ok(body.includes(`\n- \`${method} ${path}\` (`), `${method} ${path}`)
    }
    assert.ok(!body.includes('undefined'), body)
  })

  onService('links no page that is switched off', { page: 'off', mcp: 'on' }, async (service) => {
    const { body } = await service.send('GET', '/llms.txt', FREE)
    assert.ok(!body.includes('/docs)'), body)
    assert.match(body, /\n- Model Context Protocol: http:\S+\/mcp\n/)
  })
})

suite(SECURITY, () => {
  test('has the contact of the operator and an expiry that is never past (RFC 9116)', async (t) => {
    const settings = { securityContact: 'mailto:security@garden.example', publicUrl: 'https://plants.example' }
    const service = await withService(t, settings)
    const { status, headers, body } = await service.send('GET', SECURITY, FREE)
    assert.deepEqual([status, headers['content-type']], [200, 'text/plain; charset=utf-8'])
    const fields = new Map(body.split('\n', 3).map((line) => line.split(': ', 2) as [string, string]))
    assert.equal(fields.get('Contact'), 'mailto:security@garden.example')
    assert.equal(fields.get('Canonical'), `https://plants.example${SECURITY}`)
    const days = (Date.parse(fields.get('Expires') ?? '') - Date.now()) / 86_400_000
    assert.ok(days > 80 && days < 365, `${days}`)
  })

  onService('is 40401 without a contact', async (service) => {
    assert.equal(errorOf(await service.send('GET', SECURITY, FREE)), 40401)
  })
})

onService('files of the web take no other method and no parameters', async (service) => {
  for (const path of ['/favicon.ico', '/llms.txt', SECURITY]) {
    const posted = await service.send('POST', path, { ...FREE, body: '{}' })
    assert.deepEqual([errorOf(posted), posted.headers.allow], [40501, 'GET, HEAD, OPTIONS'], path)
    assert.equal(errorOf(await service.send('GET', `${path}?a=1`, FREE)), 40003, path)
  }
})
