import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { generatedContract, readDocument } from '../src/http/contract-document.ts'
import { tempFolder } from './support/files.ts'

suite('what the contract says', () => {
  test('is what it said when it was read before, as long as the file is the same', (t) => {
    const { source, generated } = files(t, 'info: { version: 1.0.0 }')
    // Told apart from what reading the file would give, to see which of the two it is.
    write(generated, generatedContract(source).replace('1.0.0', 'as read before'))
    assert.equal(readDocument(source, generated).info.version, 'as read before')
  })

  test('is what the file says once that has changed', (t) => {
    const { source, generated } = files(t, 'info: { version: 1.0.0 }')
    write(generated, generatedContract(source))
    write(source, 'info: { version: 1.1.0 }')
    assert.equal(readDocument(source, generated).info.version, '1.1.0')
  })

  for (const [what, text] of [
    ['missing', undefined],
    ['empty', ''],
    ['broken', '{"sha256": "'],
    ['something else', 'null'],
  ] as const) {
    test(`is what the file says where the generated one is ${what}`, (t) => {
      const { source, generated } = files(t, 'info: { version: 1.0.0 }')
      if (text !== undefined) write(generated, text)
      assert.equal(readDocument(source, generated).info.version, '1.0.0')
    })
  }
})

const write = (path: string, text: string): void => writeFileSync(path, text)

function files(t: TestContext, text: string): { source: string; generated: string } {
  const folder = tempFolder(t)
  const source = join(folder, 'openapi.yaml')
  write(source, text)
  return { source, generated: join(folder, 'contract.generated.json') }
}
