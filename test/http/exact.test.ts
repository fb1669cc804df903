import assert from 'node:assert/strict'
import { suite } from 'node:test'
import fc from 'fast-check'
import { allEscaped } from '../support/escaped-json.ts'
import { anyCharacter, holds } from '../support/property.ts'
import { onEmpty } from '../support/service-tests.ts'

/** Fewer runs than by default, because each needs a commit. */
const RUNS = { numRuns: 60 }

/** Any valid text of a plant: all code points except U+0000 and surrogates. */
const text = fc
  .oneof(fc.string({ unit: anyCharacter, maxLength: 40 }), fc.string({ unit: 'grapheme', maxLength: 40 }))
  .map((string) => string.replaceAll('\0', '\u{10ffff}'))

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
})
