import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { readQueryString, writeQueryString } from '../../src/http/request/head.ts'
import { contract } from '../support/conforms.ts'
import { anyText } from '../support/plants.ts'
import { holds } from '../support/property.ts'
import { assertRefused, errorOf, messageOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

/** Fills in the parameters of a path. */
const at = (path: string): string =>
  path
    .replace('/tokens/{id}', '/tokens/tok_4bXm09TzQ1r')
    .replace('/webhooks/{id}', '/webhooks/whk_4bXm09TzQ1r')
    .replace('{id}', '1')
    .replace('{file}', 'start.js')

const OF_PLANTS = 'this operation has limit, cursor, sort, tag, tagPrefix, untagged, q, count'

suite('the query parameters of every operation', () => {
  onEmpty('are refused by name if the contract does not have them', async (service) => {
    for (const { method, path } of contract.operations) {
      const headers = { 'Content-Type': 'application/json' }
      for (const [query, names] of [
        ['?colour=green', 'colour'],
        ['?colour', 'colour'],
        ['?LIMIT=1&%63olour=&colour=1', 'LIMIT, colour'],
        ['?a=1&b=2&c=3&d=4&e=5&f=6', 'a, b, c, d, e'],
      ] as const) {
        const answer = await service.send(method, at(path) + query, { headers })
        assertRefused(answer, 40003, new RegExp(`^unknown query parameter ${names}; this operation has `))
      }
    }
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('are refused with the names of the known ones', async (service) => {
    const message = async (path: string) => messageOf(await service.send('GET', path))
    assert.equal(await message('/plants?x=1'), `unknown query parameter x; ${OF_PLANTS}`)
    const ofTags = 'unknown query parameter sort; this operation has limit, cursor, prefix, q'
    assert.equal(await message('/tags?sort=id'), ofTags)
    assert.equal(await message('/health/live?x'), 'unknown query parameter x; this operation has none')
  })

  onEmpty('are refused without quoting a name that could be a secret', async (service) => {
    for (const name of ['x'.repeat(31), '%3Cscript%3E', '%00', '', '__proto__%0A', 'p%C3%A4sse']) {
      const answer = await service.send('GET', `/plants?${name}=1`)
      assertRefused(answer, 40003, `unknown query parameter; ${OF_PLANTS}`)
    }
    for (const name of ['__proto__', 'constructor', 'toString']) {
      assert.match(messageOf(await service.send('GET', `/plants?${name}=1`)), new RegExp(`^unknown .* ${name};`))
    }
  })

  onEmpty('may be absent after the question mark', async (service) => {
    for (const query of ['?', '?&', '?&&&']) {
      assert.equal((await service.send('GET', `/health/live${query}`)).status, 200)
    }
  })

  onEmpty('are checked after the token and before the body', async (service) => {
    const { secret } = await service.issueToken(['plants:write'])
    const without = await service.send('GET', '/plants?x=1', { authorization: null })
    const lacking = await service.send('GET', '/plants?x=1', { authorization: `Bearer ${secret}` })
    const before = await service.send('POST', '/plants?x=1', { headers: { 'Content-Type': 'text/plain' }, body: '{' })
    assert.deepEqual([without, lacking, before].map(errorOf), [40101, 40301, 40003])
  })

  onEmpty('change nothing on a path without that operation', async (service) => {
    assert.equal(errorOf(await service.send('GET', '/nowhere?limit=x')), 40401)
    assert.equal(errorOf(await service.send('TRACE', '/plants?limit=x')), 40501)
    assert.equal((await service.send('OPTIONS', '/plants?limit=x')).status, 204)
  })
})

suite('a query parameter', () => {
  const WRONG: readonly [string, string][] = [
    ['limit=0', 'limit must be at least 1'],
    ['limit=-1', 'limit must be at least 1'],
    ['limit=-0', 'limit must be at least 1'],
    [`limit=-${'9'.repeat(400)}`, 'limit must be an integer'],
    ...['', ...words`x 1.5 1.0 1e2 +1 %2B1 %201 1%20 0x10 1,000 NaN Infinity %D9%A1 1%00`].map(
      (text): [string, string] => [`limit=${text}`, 'limit must be an integer'],
    ),
    ['limit', 'limit must be an integer'],
    ['limit=1&limit=1', 'limit may be given only once'],
    ...['', 'ID', 'tag', '+id', '%2Bid', 'id,name', '--id'].map((text): [string, string] => [
      `sort=${text}`,
      'sort must be one of id, -id, name, -name, -changed',
    ]),
    ['sort=id&sort=name', 'sort may be given only once'],
    ['q=a&q=b', 'q may be given only once'],
    ['q=a%00b', 'q must not contain U+0000'],
    [`q=${'%C3%A4'.repeat(501)}`, 'q must have at most 500 characters'],
    ['cursor=a&cursor=a', 'cursor may be given only once'],
    ['tag=%00', 'tag must not contain U+0000'],
    [`tag=${'%C3%A4'.repeat(201)}`, 'tag must have at most 200 characters'],
    ['tag=a&tag=%00&tag=b%00', 'tag must not contain U+0000'],
    ['tag=a&'.repeat(101), 'tag may be given at most 100 times'],
    ...['%', '%f', '%zz', '%u0041', '%ff', '%C3', '%C3%28', '%ED%A0%80', '%C0%80', '%F4%90%80%80'].flatMap(
      (text): [string, string][] => [
        [`q=${text}`, 'the query is not valid percent-encoded UTF-8'],
        [`tag=a${text}`, 'the query is not valid percent-encoded UTF-8'],
        [text, 'the query is not valid percent-encoded UTF-8'],
      ],
    ),
    [
      'limit=0&sort=x&tag=%00&q=%00&page=2',
      `limit must be at least 1; sort must be one of id, -id, name, -name, -changed; tag must not contain U+0000; q must not contain U+0000; unknown query parameter page; ${OF_PLANTS}`,
    ],
  ]

  onEmpty('of the list of plants is 40003 if it is wrong, with every fault', async (service) => {
    for (const [query, message] of WRONG) {
      assertRefused(await service.send('GET', `/plants?${query}`), 40003, message)
    }
  })

  onEmpty('of the list of tags is 40003 if it is wrong', async (service) => {
    for (const [query, message] of WRONG.filter(([text]) => /^(?:limit|cursor)/.test(text) && !text.includes('sort'))) {
      assertRefused(await service.send('GET', `/tags?${query}`), 40003, message)
    }
  })

  onEmpty('is refused together with faults of the path and the preconditions', async (service) => {
    const headers = { 'If-Match': 'x', 'If-None-Match': '"y' }
    const answer = await service.send('DELETE', '/plants/x?force=1', { headers })
    const tags = 'must be * or a list of entity tags, each in double quotes'
    assert.equal(
      messageOf(answer),
      `id must be an integer from -9223372036854775808 to 9223372036854775807, in plain decimal without plus sign or leading zeros; unknown query parameter force; this operation has none; If-Match ${tags}; If-None-Match ${tags}`,
    )
  })

  onEmpty('may be as long as the limit of a head allows', async (service) => {
    const answer = await service.send('GET', `/plants?${`tag=${'a'.repeat(150)}&`.repeat(97)}sort=id`)
    assert.deepEqual([answer.status, answer.body], [200, '[]'])
    assert.equal(errorOf(await service.send('GET', `/plants?${`tag=${'a'.repeat(200)}&`.repeat(97)}sort=id`)), 43101)
  })
})

suite('a query string', () => {
  test('is decoded like URLSearchParams if it is valid', () => {
    const piece = fc.constantFrom(...words`a = & + %20 %2B %26 %3D %C3%A4 tag ; ? %F0%9F%8C%B5`)
    holds(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const query = pieces.join('')
        const read = [...(readQueryString(query) ?? assert.fail())]
        const expected = Map.groupBy(new URLSearchParams(`?${query}`), ([name]) => name)
        const wanted = [...expected].map(([name, pairs]) => [name, pairs.map(([, text]) => text)])
        assert.deepEqual(read, wanted)
      }),
    )
  })

  test('decodes to the text that was encoded', () => {
    holds(
      fc.property(fc.array(fc.tuple(anyText, anyText)), (pairs) => {
        const query = writeQueryString(pairs)
        assert.match(query, /^[\w.!~*'()%=&-]*$/)
        const expected = Map.groupBy(pairs, ([name]) => name)
        const read = readQueryString(query) ?? assert.fail()
        for (const [name, found] of expected) {
          const wanted = found.map(([, text]) => text)
          assert.deepEqual(read.get(name), wanted)
        }
      }),
    )
  })
})
