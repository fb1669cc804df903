import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { readSource } from '../../scripts/contract-source.ts'
import { checkPlantSchemas } from '../support/plant-schemas.ts'

const TEXT = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8')
const document = readSource(TEXT)
const NAME = '    Name:\n      description: >-\n        The name of the plant;'

suite("the contract's schemas of plants", () => {
  const changed = (from: string, to: string) => {
    assert.ok(TEXT.includes(from), from)
    return () => checkPlantSchemas(readSource(TEXT.replace(from, to)))
  }

  test('agree with the rule in src/domain/plant.ts', () => {
    assert.doesNotThrow(() => checkPlantSchemas(document))
  })

  test('fail if the rule does not enforce one of their keywords', () => {
    const changes: readonly [string, string][] = [
      ['      maxLength: 1000\n', '      maxLength: 999\n'],
      ['          maxLength: 200\n', ''],
      [NAME, NAME.replace('Name:\n', 'Name:\n      minLength: 1\n')],
      ['    NewPlant:\n      type: object\n', '    NewPlant:\n      type: object\n      additionalProperties: false\n'],
      [
        '    NewPlant:\n      type: object\n      required: [id, name]',
        '    NewPlant:\n      type: object\n      required: [id]',
      ],
      ['type: integer\n      format: int64', 'type: integer\n      format: int64\n      minimum: 0'],
      ['    PlantPatch:\n      type: object\n', '    PlantPatch:\n      type: object\n      minProperties: 1\n'],
      ['          type: [string, "null"]', '          type: string'],
      [
        '    PlantReplacement:\n      type: object\n      required: [name]',
        '    PlantReplacement:\n      type: object',
      ],
    ]
    for (const [from, to] of changes) assert.throws(changed(from, to), /src\/domain\/plant\.ts enforces/, to)
    assert.throws(
      changed('      maxLength: 1000\n', '      maxLength: 999\n'),
      /the body of createPlant .*"maxLength":999/,
    )
  })

  test('may have other descriptions', () => {
    assert.doesNotThrow(
      changed(NAME, NAME.replace('Name:\n', 'Name:\n      title: A name\n').replace('The name', 'Its label, the name')),
    )
  })
})
