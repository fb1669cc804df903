import assert from 'node:assert/strict'
import { suite } from 'node:test'
import fc from 'fast-check'
import { MAX_ID, MIN_ID } from '../../src/domain/plant.ts'
import { allEscaped } from '../support/escaped-json.ts'
import { pluck } from '../support/pluck.ts'
import { anyCharacter, holds } from '../support/property.ts'
import { assertRefused } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

/** Fewer runs than by default, because each needs a commit. */
const RUNS = { numRuns: 60 }

/** Any valid text of a plant: all code points except U+0000 and surrogates. */
const text = fc
  .oneof(fc.string({ unit: anyCharacter, maxLength: 40 }), fc.string({ unit: 'grapheme', maxLength: 40 }))
  .map((string) => string.replaceAll('\0', '\u{10ffff}'))

suite('the id of a plant', () => {
  const SPELLINGS: readonly [string, bigint][] = [
    ['7', 7n],
    ['70e-1', 7n],
    ['-0.0e-0', 0n],
    ['0e-999999', 0n],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993.000', -9007199254740993n],
    ['9223372036854775807', MAX_ID],
    ['9.223372036854775807e18', MAX_ID],
    ['-9223372036854775808', MIN_ID],
    ['-92233720368547758080e-1', MIN_ID],
    [`1${'0'.repeat(400)}e-400`, 1n],
    [`0.${'0'.repeat(400)}1e401`, 1n],
  ]

  onEmpty('is the mathematical value of the number, so spellings of one value are one plant', async (service) => {
    for (const [spelling, id] of SPELLINGS) {
      const answer = await service.create(`{"id":${spelling},"name":"x"}`)
      assert.equal(answer.status, 200, `${spelling}: ${answer.body}`)
      assert.equal(answer.headers['content-location'], `/plants/${id}`, spelling)
    }
    const ids = [...new Set(SPELLINGS.map(([, id]) => id))].sort((a, b) => (a < b ? -1 : 1))
    assert.deepEqual(pluck(await service.plants(), 'id'), ids)
  })
})

suite('the texts of a plant', () => {
  onEmpty('are stored bit by bit, whatever they contain and however they are escaped', async (service) => {
    let id = 0
    await holds(
      fc.asyncProperty(text, fc.option(text, { nil: undefined }), fc.boolean(), async (name, tag, escaped) => {
        const plant = { id: ++id, name, tag }
        const json = JSON.stringify(plant)
        const answer = await service.create(escaped ? allEscaped(json) : json)
        assert.equal(answer.status, 200, answer.body)
        assert.deepEqual(answer.json, JSON.parse(JSON.stringify({ name, tag })))
        const row = (await service.plants()).at(-1)
        assert.deepEqual(row, { id: BigInt(id), name, tag: tag ?? null })
      }),
      RUNS,
    )
  })

  onEmpty('are the same in one piece and in many, with a cached and an uncached token', async (service) => {
    const name = 'Caf\u00e9 \u{1f331} '.repeat(140)
    for (const [id, chunked] of [false, true, false, true].entries()) {
      const { secret } = await service.issueToken(['plants:write'])
      const authorization = `Bearer ${secret}`
      if (id >= 2) assert.equal((await service.create('{}', { authorization })).status, 400)
      const answer = await service.create({ id, name }, { authorization, chunked })
      assert.deepEqual([answer.status, answer.json], [200, { name }])
    }
    const found = (await service.plants()).map((plant) => plant.name === name)
    assert.deepEqual(found, [true, true, true, true])
  })

  onEmpty('are refused above 1000 characters of a name and 200 of a tag, and change nothing', async (service) => {
    const most = { name: '🌵'.repeat(1000), tag: '🌱'.repeat(200) }
    assert.equal((await service.create({ id: 1, ...most })).status, 200)
    for (const [member, text] of Object.entries(most)) {
      const message = `${member} must have at most ${member === 'name' ? 1000 : 200} characters`
      const body = JSON.stringify({ name: 'x', [member]: `${text}x` })
      const headers = { 'Content-Type': 'application/json' }
      for (const answer of [
        await service.create({ id: 1, name: 'x', [member]: `${text}x` }),
        await service.send('PUT', '/plants/1', { headers, body }),
        await service.send('PUT', '/plants/2', { headers, body }),
        await service.send('PATCH', '/plants/1', { headers, body }),
      ]) {
        assertRefused(answer, 40002, message)
      }
    }
    const tag = encodeURIComponent(`${most.tag}x`)
    assertRefused(await service.send('GET', `/plants?tag=${tag}`), 40003, 'tag must have at most 200 characters')
    assert.deepEqual(await service.plants(), [{ id: 1n, ...most }])
  })

  onEmpty('are refused with U+0000 or a lone surrogate, in name and tag, in every escaped form', async (service) => {
    const texts = ['\\u0000', 'a\\u0000b', '\\ud800', '\\uDFFF', 'a\\udc00\\ud800', '\\ud83c', '\\ud800\\ud83c\\udf31']
    for (const bad of texts) {
      for (const [member, other] of Object.entries({ name: 'tag', tag: 'name' })) {
        const answer = await service.create(`{"id":1,"${member}":"${bad}","${other}":"fine"}`)
        assertRefused(answer, 40002, `${member} must not contain U+0000 or a lone surrogate`)
      }
    }
    assert.deepEqual(await service.plants(), [])
    assert.equal((await service.create('{"id":1,"name":"\\ud83c\\udf31"}')).status, 200)
    assert.equal((await service.plants())[0]?.name, '\u{1f331}')
  })

  onEmpty('must be UTF-8 without a byte order mark, and invalid bytes are refused', async (service) => {
    const around = (bytes: number[]) =>
      Buffer.concat([Buffer.from('{"id":1,"name":"'), Buffer.from(bytes), Buffer.from('"}')])
    const json = '{"id":1,"name":"x"}'
    const bodies: Readonly<Record<string, Buffer>> = {
      'a lone continuation byte': around([0x80]),
      'a cut sequence': around([0xe2, 0x82]),
      'an overlong NUL': around([0xc0, 0x80]),
      'an encoded surrogate': around([0xed, 0xa0, 0x80]),
      'beyond U+10FFFF': around([0xf4, 0x90, 0x80, 0x80]),
      'Latin-1': around([0xe9]),
      'UTF-16': Buffer.from(json, 'utf16le'),
    }
    const marked: Readonly<Record<string, Buffer>> = {
      'the body is not valid JSON: it begins with a byte order mark; send it without one': Buffer.from(`\ufeff${json}`),
      'the body is not valid UTF-8: it begins with a byte order mark of UTF-16; send UTF-8': Buffer.from(
        `\ufeff${json}`,
        'utf16le',
      ),
    }
    for (const [message, body] of Object.entries(marked)) {
      assertRefused(await service.create(body), 40001, message)
    }
    for (const body of Object.values(bodies)) {
      assertRefused(await service.create(body), 40001)
    }
    assert.deepEqual(await service.plants(), [])
  })
})
