import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { absolute, schemaCompiler } from '../../scripts/contract-source.ts'
import { expectationOf, readEntityTags } from '../../src/http/request/head.ts'
import { isDistributed } from '../support/citus.ts'
import { contract } from '../support/conforms.ts'
import { patch, put } from '../support/exchanges.ts'
import { holds } from '../support/property.ts'
import { assertRefused, messageOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

suite('the value of If-Match and If-None-Match', () => {
  const VALID: readonly [string, '*' | string[]][] = [
    ['*', '*'],
    ['"a"', ['"a"']],
    ['""', ['""']],
    ['W/"a"', ['W/"a"']],
    ['"a", W/"b" ,\t"c"', ['"a"', 'W/"b"', '"c"']],
    ['"a","b"', ['"a"', '"b"']],
    [',, "a" , ,,"b", ', ['"a"', '"b"']],
    ['"a,b", "*"', ['"a,b"', '"*"']],
    ['"!#~\x80\xff"', ['"!#~\x80\xff"']],
    ['"W/"', ['"W/"']],
  ]
  const MALFORMED = [
    ...['', ' ', ',', ', ,', '"a" "b"', 'W/ "a"', '"a b"', '"a\x7fb"', '"a"; "b"', '*, "a"', '"a", *', '"a", b'],
    ...words`a " "a a" "a""b" 'a' w/"a" W/a W/ ** "a"x`,
  ]

  test('is * or a list of entity tags (RFC 9110 section 8.8.3)', () => {
    for (const [text, tags] of VALID) assert.deepEqual(readEntityTags(text), tags, text)
    for (const text of MALFORMED) assert.equal(readEntityTags(text), undefined, text)
  })

  test('matches the schema of the contract if and only if it is valid', () => {
    const isValid = schemaCompiler(contract.document).compile(absolute({ $ref: '#/components/schemas/EntityTags' }))
    for (const [text] of VALID) assert.ok(isValid(text), text)
    for (const text of MALFORMED) assert.ok(!isValid(text), text)
    holds(
      fc.property(fc.string({ unit: fc.constantFrom(...'*W/", \ta') }), (text) => {
        assert.equal(isValid(text), readEntityTags(text) !== undefined, text)
      }),
      { numRuns: 2000 },
    )
  })

  test('may contain blanks and empty elements around the tags', () => {
    const tag = fc
      .tuple(fc.constantFrom('', 'W/'), fc.string({ unit: fc.constantFrom('!', ',', 'a', '~', 'W', '/', '*') }))
      .map(([weak, opaque]) => `${weak}"${opaque}"`)
    const gap = fc.constantFrom(',', ', ', ' ,', '\t,\t', ',,', ' , , ')
    holds(
      fc.property(fc.array(fc.tuple(tag, gap), { minLength: 1 }), (parts) => {
        const text = parts.flat().join('')
        const tags = parts.map(([one]) => one)
        assert.deepEqual(readEntityTags(text), tags)
        assert.deepEqual(readEntityTags(text.replace(/[ \t,]+$/, '')), tags)
      }),
    )
  })

  test('takes linear time to parse if it is long and almost valid', () => {
    for (const text of [`"a"${' '.repeat(16_000)}x`, `${','.repeat(16_000)}x`, `${'"a",'.repeat(4000)}x`]) {
      assert.equal(readEntityTags(text), undefined)
    }
    assert.equal(readEntityTags('"a",'.repeat(4000))?.length, 4000)
  })

  test('is compared strongly in If-Match and weakly in If-None-Match', () => {
    const tags = ['"a"', 'W/"b"', '"W/c"', 'W/"W/d"']
    assert.deepEqual(expectationOf({ 'If-Match': tags, 'If-None-Match': tags }), {
      at: ['a', 'W/c'],
      notAt: ['a', 'b', 'W/c', 'W/d'],
    })
    assert.deepEqual(expectationOf({ 'If-Match': '*' }), { at: 'any' })
    assert.deepEqual(expectationOf({ 'If-Match': ['"any"', '"7-gzip"'] }), { at: ['any', '7'] })
    assert.deepEqual(expectationOf({}), {})
  })

  onEmpty('that is weak is named in the refusal, because a proxy may have made it so', async (service) => {
    const { headers } = await service.create({ id: 1, name: 'x' })
    const sending = { headers: { 'If-Match': `W/${headers.etag}` } }
    for (const answer of [
      await service.send('GET', '/plants/1', sending),
      await service.send('DELETE', '/plants/1', sending),
      await put(service, 1, { name: 'y' }, sending),
      await patch(service, 1, { name: 'y' }, sending),
    ]) {
      assertRefused(answer, 41201, /\(If-Match; If-Match has a weak tag, which never holds .*: send it without W\/\)$/)
    }
    const other = await put(service, 1, { name: 'y' }, { headers: { 'If-Match': '"7"' } })
    assert.doesNotMatch(messageOf(other), /weak/)
  })

  onEmpty('is 40003 if it is malformed, and the operation does not run', async (service) => {
    await service.create({ id: 1, name: 'x' })
    for (const name of ['If-Match', 'If-None-Match']) {
      for (const value of ['', 'a', '"a', '*, "a"', '"a" "b"', 'w/"a"']) {
        const headers = { [name]: value }
        const answers = [
          await service.send('GET', '/plants/1', { headers }),
          await service.send('DELETE', '/plants/1', { headers }),
          await put(service, 1, { name: 'y' }, { headers }),
          await patch(service, 1, { name: 'y' }, { headers }),
        ]
        for (const answer of answers) {
          assertRefused(answer, 40003, `${name} must be * or a list of entity tags, each in double quotes`)
        }
      }
    }
    assert.deepEqual(await service.plants(), [{ id: 1n, name: 'x', tag: null }])
  })
})

suite('a precondition that an operation does not take', () => {
  onEmpty('is refused on a write', async (service) => {
    const values: Readonly<Record<string, string>>[] = [{ 'If-Match': '*' }, { 'If-Match': '"x"' }]
    for (const headers of values) {
      const answer = await service.create({ id: 1, name: 'x' }, { headers })
      assertRefused(answer, 40003, 'If-Match is not supported by this operation; leave it out')
    }
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('is ignored on a read without an entity tag', async (service) => {
    const headers = { 'If-Match': '"x"', 'If-None-Match': '*' }
    for (const { id, method, path } of contract.operations) {
      if (method !== 'GET' || path.includes('{id}')) continue
      const answer = await service.send('GET', path.replace('{file}', 'page.js'), { headers })
      const other: Readonly<Record<string, number>> = {
        getStart: 303,
        getResourceMetadata: 404,
        ...(isDistributed() ? { listChanges: 404, listDeletedPlants: 404, listActions: 404, listWebhooks: 404 } : {}),
      }
      const expected = other[id] ?? (answer.headers.etag === undefined ? 200 : 304)
      assert.equal(answer.status, expected, id)
    }
  })
})
