import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { readSource } from '../scripts/contract-source.ts'
import { operationTypes } from '../scripts/generate-operations.ts'
import { ROOT } from '../scripts/repository.ts'
import { readContract } from '../src/http/request/operations.ts'
import { tempFolder } from './support/files.ts'

const SOURCE = readFileSync(join(ROOT, 'openapi.yaml'), 'utf8')

/** Type-checks the program against this text of openapi.yaml. */
function typeCheck(t: TestContext, source: string): { status: number | null; output: string } {
  const folder = tempFolder(t)
  for (const name of ['src', 'client/src', 'tsconfig.json', 'package.json'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const types = operationTypes(readSource(source))
  writeFileSync(join(folder, 'src/http/request/operations.generated.ts'), types)
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' })
  return { status, output: `${stdout}${stderr}` }
}

suite('the type check of the program against the contract', () => {
  test('passes for the contract in openapi.yaml', (t) => {
    assert.deepEqual(typeCheck(t, SOURCE), { status: 0, output: '' })
  })

  // One run for all of them: a run takes two seconds of processor time.
  test('fails for each name that changes in the contract alone, and for a new required member', (t) => {
    const body = '    PlantReplacement:\n      type: object\n      required: [name]\n      properties:\n'
    const higher = body.replace('[name]', '[name, height]').replace(/$/, '        height: { type: integer }\n')
    const changes = [
      ['a query parameter', 'name: limit\n', 'name: most\n', /src\/http\/resources\/lists\.ts.*limit/],
      ['a path parameter', 'name: file\n', 'name: path\n', /src\/http\/resources\/pages\.ts.*file/],
      ['a header', 'name: If-Match\n', 'name: If-Same\n', /src\/http\/router\.ts.*If-Match/],
      ['a parameter of the import', 'name: dryRun\n', 'name: trial\n', /src\/http\/resources\/files\.ts.*dryRun/],
      ['a value that the code has', 'enum: [ndjson, csv]', 'enum: [ndjson, tsv]', /src\/http\/resources\/files\.ts/],
      [
        'an operation',
        'operationId: listTags\n',
        'operationId: countTags\n',
        /src\/http\/resources\/lists\.ts.*listTags/,
      ],
      ['a body', body, higher, /src\/http\/resources\/plants\.ts.*height/],
    ] as const
    let source = SOURCE
    for (const [what, from, to] of changes) {
      assert.ok(source.includes(from), `${what} is not in the contract`)
      source = source.replaceAll(from, to)
    }
    const { status, output } = typeCheck(t, source)
    assert.notEqual(status, 0)
    for (const [what, , , where] of changes) assert.match(output, where, what)
  })
})

test('the program reads the contract as JSON that npm run generate has written of openapi.yaml', () => {
  assert.deepEqual(readContract().document, readSource())
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object }
  assert.ok(!Object.hasOwn(dependencies, 'yaml'))
})
