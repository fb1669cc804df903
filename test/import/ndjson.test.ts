import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { AppError } from '../../src/domain/errors.ts'
import { parseRow } from '../../src/json/body.ts'
import { pluck } from '../support/pluck.ts'
import { readAll } from './support.ts'

const plant = (id: bigint, name: string, tag?: string) => ({ id, name, tag })

suite('an NDJSON file', () => {
  test('has a plant per line; lines end with LF or CRLF, which the last line may omit', async () => {
    for (const end of ['\n', '\r\n']) {
      const file = ['{"id":1,"name":"Fern","tag":"shade"}', '{"id":-2,"name":"Moss"}'].join(end)
      const { plants, refused, fault } = await readAll('ndjson', file)
      assert.deepEqual(plants, [
        [1, plant(1n, 'Fern', 'shade')],
        [2, plant(-2n, 'Moss')],
      ])
      assert.deepEqual([refused, fault], [[], undefined])
    }
  })

  test('has refusals without a stack, which would take most of the time of a refused row', async () => {
    const texts = ['x', '{}', '{"id":1,"id":2}', '[]', '{"id":1,"name":"a","tag":1}']
    for (const text of texts) {
      assert.throws(
        () => parseRow(Buffer.from(text)),
        (error: Error) => error instanceof AppError && !error.stack?.includes('\n'),
        text,
      )
    }
    assert.match(new Error('a bug').stack ?? '', /\n.*ndjson\.test/)
  })

  test('may be empty, begin with a byte order mark, and contain blank lines', async () => {
    for (const pieces of [1, 2, 3, 100]) {
      const { plants, refused } = await readAll('ndjson', '\ufeff\n \t\r\n{"id":1,"name":"a"}\n\n\n', { pieces })
      assert.deepEqual([plants, refused], [[[3, plant(1n, 'a')]], []])
    }
    for (const file of ['', '\n', '\ufeff']) {
      assert.deepEqual(await readAll('ndjson', file), { plants: [], refused: [], fault: undefined })
    }
  })

  test('may say what a plant was before, by the rule for plants, with its id or without', async () => {
    const rows = [
      '{"id":7,"name":"a","before":{"name":"b","tag":""}}',
      '{"id":7,"before":{"name":"b","id":7,"more":1},"name":"a","tag":"c"}',
      '{"id":7,"name":"a","before":null}',
      '{"id":7,"name":"a","before":{"tag":"b"}}',
      '{"id":7,"name":"a","before":{"id":8,"name":"b"}}',
      '{"id":7,"name":"a","before":{"name":"b","tag":null}}',
      '{"id":7,"name":"a","before":{"name":"b","name":"c"}}',
      '{"id":7,"name":"a","before":{"name":"\\u0000"}}',
    ]
    const { plants, refused } = await readAll('ndjson', rows.join('\n'))
    assert.deepEqual(plants, [
      [1, { ...plant(7n, 'a'), before: { name: 'b', tag: '' } }],
      [2, { ...plant(7n, 'a', 'c'), before: { name: 'b', tag: undefined } }],
    ])
    assert.deepEqual(refused, [
      [3, 40002, 'in before: the value must be an object'],
      [4, 40002, 'in before: name is required'],
      [5, 40002, 'in before: id must be 7 as in the row, or left out'],
      [6, 40002, 'in before: tag must be a string'],
      [7, 40002, 'in before: the value has name more than once; send each member once'],
      [8, 40002, 'in before: name must not contain U+0000 or a lone surrogate'],
    ])
  })

  test('accepts ids, texts and unknown members as the body of a create does', async () => {
    const rows = [
      '{"id":9223372036854775807,"name":"a"}',
      '{"id":-9223372036854775808,"name":"a"}',
      '{"id":9007199254740993,"name":"a"}',
      ' { "tag" : "" , "name" : "\\u0041\\ud83d\\ude00" , "id" : 7.0e0 , "more" : [{"id":8}] } ',
    ]
    assert.deepEqual((await readAll('ndjson', rows.join('\n'))).plants, [
      [1, plant(2n ** 63n - 1n, 'a')],
      [2, plant(-(2n ** 63n), 'a')],
      [3, plant(9007199254740993n, 'a')],
      [4, plant(7n, 'A😀', '')],
    ])
  })
})

suite('a row of an NDJSON file is refused alone', () => {
  const refusalOf = async (row: string | Buffer) => {
    const last = '{"id":99,"name":"last"}'
    const file = Buffer.concat([Buffer.from(row), Buffer.from(`\n${last}`)])
    const { plants, refused, fault } = await readAll('ndjson', file)
    assert.deepEqual([plants, fault], [[[2, plant(99n, 'last')]], undefined])
    const [[line, error, message] = []] = refused
    assert.deepEqual([refused.length, line], [1, 1])
    return `${error} ${message}`
  }

  test('if it is not exactly one JSON text', async () => {
    for (const [row, message] of [
      ['{"id":1,', /^not valid JSON, at position \d+$/],
      ['{"id":1,"name":"a"}{"id":2,"name":"a"}', /^not valid JSON/],
      ['\ufeff\ufeff{"id":1,"name":"a"}', /^not valid JSON: it begins with a byte order mark; send it without one$/],
      [Buffer.from('{"id":1,"name":"\xff"}', 'latin1'), /^not valid UTF-8$/],
      [`{"id":1,"name":"a","x":${'['.repeat(40)}${']'.repeat(40)}}`, /^nested more than 32 levels deep$/],
    ] as const) {
      const [, found = ''] = /^40001 the row is (.*)$/.exec(await refusalOf(row)) ?? []
      assert.match(found, message)
    }
  })

  test('with its whole file if that is one JSON text', async () => {
    const lines = '{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n'
    const plants = (lines.match(/[^\n]+/g) ?? []).map((line) => JSON.parse(line) as object)
    const files = [
      JSON.stringify(lines),
      JSON.stringify(`\n${lines}`),
      JSON.stringify(plants),
      JSON.stringify(plants, null, 2),
    ]
    for (const file of [...files, JSON.stringify(lines.repeat(10_000))]) {
      const { plants: read, refused, fault } = await readAll('ndjson', Buffer.from(file))
      assert.deepEqual([read, refused], [[], []], file.slice(0, 100))
      assert.match(String(fault), /^40001 the file is one JSON text; send it raw/)
    }
  })

  test('if it is not a plant, with all of its faults', async () => {
    for (const [row, message] of [
      ['[1]', 'the row must be an object'],
      ['{"id":1,"id":1,"name":"a"}', 'the row has id more than once; send each member once'],
      ['{"id":9223372036854775808}', 'id must be from -9223372036854775808 to 9223372036854775807; name is required'],
      [
        '{"id":"7","name":"\\ud800","tag":null}',
        'id must be an integer, as a JSON number; name must not contain U+0000 or a lone surrogate; tag must be a string',
      ],
    ] as const) {
      assert.equal(await refusalOf(row), `40002 ${message}`)
    }
  })

  test('if it is larger than the limit, in pieces of any size', async () => {
    const row = '{"id":1,"name":"a"}'.padEnd(2 ** 16, ' ')
    const file = `${row}\n${row} \n${row}\r\n${' '.repeat(200_000)}\n${row}`
    for (const pieces of [100, 2 ** 16, 1_000_000]) {
      const { plants, refused } = await readAll('ndjson', file, { pieces })
      assert.deepEqual(pluck(plants, 0), [1, 5])
      const expected = [2, 3, 4].map((line) => [line, 41301, 'the row is larger than 65536 bytes'])
      assert.deepEqual(refused, expected)
    }
  })

  test('if its name or its tag, or one of the plant before, is too long', async () => {
    const [name, tag] = ['🌵'.repeat(1000), '🌵'.repeat(200)]
    const rows = [
      { id: 1, name, tag, before: { name, tag } },
      { id: 1, name: `${name}a` },
      { id: 1, name, tag: `${tag}a` },
      { id: 1, name, before: { name: `${name}a` } },
    ]
    const { plants, refused } = await readAll('ndjson', rows.map((row) => JSON.stringify(row)).join('\n'))
    assert.deepEqual(pluck(plants, 0), [1])
    assert.deepEqual(refused, [
      [2, 40002, 'name must have at most 1000 characters'],
      [3, 40002, 'tag must have at most 200 characters'],
      [4, 40002, 'in before: name must have at most 1000 characters'],
    ])
  })
})
