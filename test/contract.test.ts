import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import pino from 'pino'
import { parse } from 'yaml'
import {
  absolute,
  compiledOperations,
  type OperationObject,
  type ResponseObject,
  readSource,
  resolve,
  schemaCompiler,
} from '../scripts/contract-source.ts'
import { operationTypes } from '../scripts/generate-operations.ts'
import { ROOT } from '../scripts/repository.ts'
import { ClientAddresses } from '../src/base/network.ts'
import { ERRORS, type ErrorNumber } from '../src/domain/errors.ts'
import { MAX_NAME, MAX_TAG } from '../src/domain/plant.ts'
import { NO_AUDIT } from '../src/http/answer/audit-log.ts'
import { Responder } from '../src/http/answer/responder.ts'
import { SlowClients } from '../src/http/answer/slow-clients.ts'
import { Metrics } from '../src/http/metrics/metrics.ts'
import { BODY_LIMIT, type Route } from '../src/http/request/exchange.ts'
import { readContract } from '../src/http/request/operations.ts'
import { addRoutes, type Handlers, type RouteOptions, Router } from '../src/http/router.ts'
import { ROW_LIMIT } from '../src/import/batch.ts'
import { MAX_DEPTH } from '../src/json/scanner.ts'
import { readConfig } from '../src/settings/config.ts'
import { tempFolder } from './support/files.ts'

const TEXT = readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8')
const document = readSource(TEXT)
const { operations } = readContract()

const refusals = Object.values(document.paths).flatMap((item) =>
  Object.values(item).map(({ operationId = '', responses, 'x-errors': numbers }) => ({
    operationId,
    responses,
    numbers,
  })),
)

test('the contract is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  const result = await validator.validate(parse(TEXT) as Record<string, unknown>)
  assert.deepEqual(result.errors ?? [], [])
  assert.equal(result.valid, true)
  assert.equal(validator.version, '3.1')
})

test('the contract has no keyword for which a generator of clients leaves operations out', () => {
  assert.deepEqual(JSON.stringify(document).match(/"(?:const|anyOf|oneOf|allOf|not)":/g) ?? [], [])
})

test('the service can compile the schema of every parameter, which it does with the first value', () => {
  const ajv = schemaCompiler(document)
  const parameters = Object.values(document.paths).flatMap((item) =>
    Object.values(item).flatMap((operation) => operation.parameters ?? []),
  )
  for (const parameter of parameters) ajv.compile(absolute(resolve<{ schema: object }>(document, parameter).schema))
  assert.ok(parameters.length > 50)
})

suite('a validator that reads patterns without the Unicode flag, as most do', () => {
  type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
  /** Every object within a value of JSON, with its path. */
  function* objectsIn(value: Json, path = '#'): Generator<[string, Readonly<Record<string, Json>>]> {
    if (typeof value !== 'object' || value === null) return
    if (!Array.isArray(value)) yield [path, value as Readonly<Record<string, Json>>]
    for (const [key, part] of Object.entries(value)) yield* objectsIn(part, `${path}/${key.replaceAll('/', '~1')}`)
  }
  const objects = [...objectsIn(parse(TEXT) as Json)]

  test('reads every pattern as the service does', () => {
    const patterns = objects.flatMap(([path, { pattern }]) => (typeof pattern === 'string' ? [{ path, pattern }] : []))
    assert.ok(patterns.length > 10, 'the walk finds them')
    const texts = ['', 'p', 'Cc}', 'Café, 蕨', '🌱', '\u0000', '\u200b', '"a"', '*']
    for (const { path, pattern } of patterns) {
      // Some generators take a slash at the begin for a delimiter, and leave the operation out or fail.
      assert.ok(pattern.startsWith('^'), path)
      for (const text of texts) {
        assert.equal(new RegExp(pattern).test(text), new RegExp(pattern, 'u').test(text), `${path}: ${text}`)
      }
    }
  })

  test('finds that every example is valid', () => {
    const ajv = new Ajv2020({ strict: false, unicodeRegExp: false, validateFormats: false, validateSchema: false })
    ajv.addSchema({ $id: 'contract', components: document.components })
    const media = objects.filter(([, { schema, examples }]) => schema !== undefined && examples !== undefined)
    assert.ok(media.length > 10, 'the walk finds them')
    for (const [path, { schema, examples }] of media) {
      const validate = ajv.compile(absolute(schema))
      for (const [name, example] of Object.entries(examples as Readonly<Record<string, { readonly value: Json }>>)) {
        assert.ok(validate(example.value), `${path} ${name}: ${ajv.errorsText(validate.errors)}`)
      }
    }
  })
})

suite('the contract keeps what the interface document shows', () => {
  const create = document.paths['/plants']?.['post'] as OperationObject
  const schema = (name: string) => document.components['schemas']?.[name] as SchemaObject
  interface SchemaObject {
    readonly type: string
    readonly required?: readonly string[]
    readonly properties: Readonly<Record<string, SchemaObject & { readonly format?: string }>>
    readonly additionalProperties?: boolean
  }
  const fields = (name: string) =>
    Object.entries(schema(name).properties).map(([field, of]) => {
      const { type, format } = resolve<SchemaObject & { readonly format?: string }>(document, of)
      return [field, type, format, schema(name).required?.includes(field) ?? false]
    })

  test('version 1.0.0, with POST /plants and no version in the path', () => {
    assert.equal(document.info.version, '1.0.0')
    assert.equal(create.operationId, 'createPlant')
  })

  test('the fields of Plant, NewPlant and Error', () => {
    assert.deepEqual(fields('Plant'), [
      ['name', 'string', undefined, true],
      ['tag', 'string', undefined, false],
    ])
    assert.deepEqual(fields('NewPlant'), [
      ['id', 'integer', 'int64', true],
      ['name', 'string', undefined, true],
      ['tag', 'string', undefined, false],
    ])
    assert.deepEqual(fields('Error'), [
      ['error', 'integer', 'int32', true],
      ['message', 'string', undefined, true],
    ])
    assert.equal(schema('NewPlant').additionalProperties, undefined, 'other members may be sent')
  })

  test('JSON both ways, 200 with a Plant and 400 with an Error', () => {
    const body = (response: string) => {
      const { content } = resolve<ResponseObject>(document, create.responses[response])
      assert.deepEqual(Object.keys(content ?? {}), ['application/json'])
      return content?.['application/json']?.schema
    }
    assert.deepEqual(body('200'), { $ref: '#/components/schemas/Plant' })
    assert.deepEqual(body('400'), { $ref: '#/components/schemas/Error' })
    assert.deepEqual(create.requestBody?.content['application/json']?.schema, { $ref: '#/components/schemas/NewPlant' })
    assert.deepEqual(Object.keys(create.requestBody?.content ?? {}), ['application/json'])
  })

  test('a bearer scheme for every operation except health, the contract, the metadata and the pages', () => {
    const scheme = document.components['securitySchemes']?.['bearer'] as { type: string; scheme: string }
    assert.deepEqual([scheme.type, scheme.scheme], ['http', 'bearer'])
    assert.deepEqual(document.security, [{ bearer: [] }])
    const open = operations.filter(({ scopes }) => scopes === undefined).map(({ path }) => path)
    assert.deepEqual(open, [
      '/health/live',
      '/health/ready',
      '/',
      '/page/{file}',
      '/openapi.json',
      '/.well-known/oauth-protected-resource',
      '/docs',
      '/docs/{file}',
    ])
  })
})

suite('the error numbers', () => {
  /** Refusals that no operation answers, with the reason. */
  const ELSEWHERE: Readonly<Partial<Record<ErrorNumber, string>>> = {
    40501: 'a method that a path does not have is no operation of the contract',
  }

  test('of every operation are in the catalog, in order, for its one refusal', () => {
    for (const { operationId, responses, numbers } of refusals) {
      assert.deepEqual(numbers, [...new Set(numbers)].sort(), operationId)
      for (const number of numbers) assert.ok(Object.hasOwn(ERRORS, number), `${operationId}: ${number}`)
      for (const [status, response] of Object.entries(responses)) {
        // The interface document shows 400.
        const isRefusal = status === 'default' || status === '400'
        assert.equal(JSON.stringify(response) === '{"$ref":"#/components/responses/Refusal"}', isRefusal, operationId)
      }
      assert.ok('default' in responses, operationId)
    }
  })

  test('have their meanings in the document', () => {
    assert.deepEqual(new Map<string, unknown>(Object.entries(document)).get('x-errors'), ERRORS)
  })

  test('of the catalog are all in the contract, except those with a stated reason', () => {
    const used = new Set(refusals.flatMap(({ numbers }) => numbers))
    for (const key of Object.keys(ERRORS)) {
      const number = Number(key) as ErrorNumber
      assert.notEqual(used.has(number), number in ELSEWHERE, `${number} is in both or in neither`)
    }
  })

  test('are int32: an HTTP status followed by two digits', () => {
    for (const key of Object.keys(ERRORS)) {
      assert.match(key, /^[45]\d{4}$/)
      assert.notEqual(Number(key) % 100, 0)
    }
  })

  test('that every request may get are declared for every operation', () => {
    for (const { id, scopes } of operations) {
      const declared = new Set(refusals.find(({ operationId }) => operationId === id)?.numbers)
      const needed = [40004, 50001, 50303, ...(scopes === undefined ? [] : [40101, 40102, 40103, 40301, 42901])]
      const found = needed.filter((number) => !declared.has(number))
      assert.deepEqual(found, [], id)
    }
  })
})

test('the contract states the bounds of a plant, of a body and of a row', () => {
  const [, kibibytes, levels] = /at most (\d+) KiB, nested at most (\d+) levels/.exec(TEXT) ?? assert.fail()
  assert.deepEqual([Number(kibibytes) * 1024, Number(levels)], [BODY_LIMIT, MAX_DEPTH])
  const [, row] = /a row at most (\d+) KiB/.exec(TEXT) ?? assert.fail()
  assert.equal(Number(row) * 1024, ROW_LIMIT)
  const mostOf = (schema: string) =>
    (resolve(document, { $ref: `#/components/schemas/${schema}` }) as { readonly maxLength?: number }).maxLength
  assert.deepEqual(['Name', 'Tag', 'PlantPatch/properties/tag'].map(mostOf), [MAX_NAME, MAX_TAG, MAX_TAG])
})

const REFUSAL = 'content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }'
const CURSOR = 'name: cursor\n      in: query\n'
/** Changes of the contract, and what its reader says. */
const REFUSED: readonly (readonly [what: string, from: string, to: string, says: RegExp])[] = [
  ['an operation without an id', 'operationId: createPlant', 'x-id: createPlant', /post \/plants has no operationId/],
  ['an unknown security scheme', 'security:\n  - bearer: []', 'security:\n  - basic: []', /listPlants has no known/],
  ['a security scheme of another kind', 'scheme: bearer', 'scheme: digest', /has no known security scheme/],
  ['an unknown scope', '[plants:write]', '[plants:paint]', /createPlant needs the unknown scope plants:paint/],
  ['an answer without a content', REFUSAL, '', /listPlants default has no schema/],
  ['an answer without a schema', REFUSAL, 'content: { application/json: {} }', /listPlants default has no schema/],
  ['a required parameter', CURSOR, `${CURSOR}      required: true\n`, /cursor must be required in the path, and only/],
  ['a parameter without a schema', 'schema: { type: integer, format: int64 }', 'x-schema: {}', /nothing to resolve/],
  ['a reference to a missing object', 'responses/StoredPlant', 'responses/Forgotten', /Forgotten leads nowhere/],
]
suite('the contract is refused', () => {
  for (const [what, from, to, says] of REFUSED) {
    test(`with ${what}`, () => {
      assert.ok(TEXT.includes(from), `${from} is not in the contract`)
      assert.throws(() => compiledOperations(readSource(TEXT.replace(from, to))), says)
    })
  }
})

test('the service does not start with an operation without a handler, or a handler without an operation', () => {
  const handler = () => {}
  const all = Object.fromEntries(operations.map(({ id }) => [id, handler]))
  const { createPlant: _, ...missing } = all
  const responder = new Responder({
    log: pino({ level: 'silent' }),
    audit: NO_AUDIT,
    metrics: new Metrics(),
    state: { current: 'serving' },
    addresses: new ClientAddresses([]),
    cors: undefined,
    slowClients: new SlowClients(readConfig({}, {})),
    limits: readConfig({}, {}),
  })
  const notFound: Route = () => {}
  const options: RouteOptions = {
    authorize: (_operation, next) => next,
    confirm: async () => {},
    responder,
    cors: undefined,
    overload: undefined,
  }
  const start = (handlers: object) => () =>
    addRoutes(new Router({ maxParamLength: 100, notFound }), { document, operations }, handlers as Handlers, options)
  assert.doesNotThrow(start(all))
  assert.throws(start(missing), /operation createPlant has no handler/)
  assert.throws(start({ ...all, paintPlant: handler }), /no operation paintPlant/)
})

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
    assert.deepEqual(typeCheck(t, TEXT), { status: 0, output: '' })
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
    let source = TEXT
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
