import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../src/domain/errors.ts'
import { MAX_ID, MIN_ID } from '../../src/domain/plant.ts'
import { int64Of, NOT_TEXT, readJsonBody } from '../../src/json/body.ts'
import { allEscaped } from '../support/escaped-json.ts'
import { exactInteger, integerSpelling, numberText } from '../support/numbers.ts'
import { anyCharacter, holds } from '../support/property.ts'

const read = (text: string) => readJsonBody(Buffer.from(text))

function numberOf(work: () => unknown): number {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof AppError, String(error))
    return error.number
  }
  return assert.fail('nothing was refused')
}

/** JSON texts with spacing, escapes and member names that faulty parsers misread. */
const json = fc
  .tuple(fc.json({ maxDepth: 5, stringUnit: anyCharacter }), fc.constantFrom('', ' ', '\n\t'))
  .map(([text, space]) => `${space}${text}${space}`)

suite('a JSON text', () => {
  test('has its members under their unescaped names', () => {
    const ascii = fc.string({ unit: 'grapheme-ascii' })
    const value = fc.oneof(
      fc.dictionary(ascii, fc.jsonValue({ maxDepth: 4, stringUnit: anyCharacter })),
      fc.jsonValue(),
    )
    holds(
      fc.property(value, fc.constantFrom('', ' ', '\n\t'), fc.boolean(), (written, space, escaped) => {
        const text = `${space}${JSON.stringify(written, null, space)}${space}`
        const body = read(escaped ? allEscaped(text) : text)
        const isObject = typeof written === 'object' && written !== null && !Array.isArray(written)
        assert.equal(body.isObject, isObject)
        if (!isObject) return
        for (const [name, member] of Object.entries(written)) {
          if (!/^[\x20-\x7e]*$/.test(name)) continue
          assert.equal(body.text(name), typeof member === 'string' || member === null ? member : NOT_TEXT)
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('that JSON.parse refuses, or that is truncated, is 40001', () => {
    holds(
      fc.property(fc.oneof(json, fc.string()), fc.nat(), (text, at) => {
        const cut = text.slice(0, at % (text.length + 1))
        let valid = true
        try {
          JSON.parse(cut)
        } catch {
          valid = false
        }
        if (valid) assert.doesNotThrow(() => read(cut))
        else
          assert.equal(
            numberOf(() => read(cut)),
            40001,
          )
      }),
      { numRuns: 2000 },
    )
  })

  test('that is empty is 40001', () => {
    const number = numberOf(() => read(''))
    assert.equal(number, 40001)
  })

  test('that is not UTF-8, or begins with a byte order mark, is 40001', () => {
    // A lone continuation byte, a cut sequence, an overlong NUL, a surrogate, what is beyond U+10FFFF, and Latin-1.
    for (const bytes of [[0x80], [0xe2, 0x82], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe9]]) {
      const text = Buffer.from([0x22, ...bytes, 0x22])
      assert.throws(() => readJsonBody(text), { number: 40001, message: 'the body is not valid UTF-8' }, String(bytes))
    }
    assert.throws(() => read('\ufeff{}'), /JSON: it begins with a byte order mark; send it without one$/)
    const wide = Buffer.from('\ufeff{}', 'utf16le')
    assert.throws(() => readJsonBody(wide), /UTF-8: it begins with a byte order mark of UTF-16; send UTF-8$/)
  })

  test('is never quoted in a refusal', () => {
    for (const text of ['{"password":"hunter2",}', 'hunter2', '["hunter2"', '{"hunter2"}', '"hunter2']) {
      assert.throws(
        () => read(text),
        (error: Error) => !error.message.includes('hunter2'),
      )
    }
  })
})

suite('the nesting', () => {
  test('counts open arrays and objects but no brackets in texts, and is refused beyond its limit', () => {
    for (let levels = 1; levels <= 70; levels++) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const text = `${open.repeat(levels)}"]}[{\\"[["${close.repeat(levels)}`
        if (levels <= 32) read(text)
        else assert.throws(() => read(text), { number: 40001, message: 'the body is nested more than 32 levels deep' })
      }
    }
  })
})

suite('the members of an object', () => {
  const member = fc.oneof(
    fc.constantFrom('id', '__proto__', '0', '', ',', '"', '\\', '{', 'é', '😀', '\ud83d'),
    fc.string({ unit: anyCharacter }),
  )

  test('may have any name', () => {
    holds(
      fc.property(fc.uniqueArray(member), json, (names, value) => {
        const text = `{${names.map((name) => `${JSON.stringify(name)}:${value}`).join(' , ')}}`
        assert.ok(read(text).isObject)
      }),
    )
  })

  test('keep apart names that differ only in their escapes', () => {
    JSON.parse('{",":1,"\\\\":2}')
    const marks = read('{",":1,"\\"":2}')
    assert.deepEqual([marks.int64(','), marks.int64('"')], [1n, 2n])
    JSON.parse('{"id":1,"n\\\\u0":"other"}')
    const body = read('{"id":1,"n\\u0061me":"x","deep":[{"id":1,"n\\u0061me":"y"}]}')
    assert.deepEqual([body.int64('id'), body.text('name'), body.text('n\\u0')], [1n, 'x', undefined])
  })

  test('are found by their names whatever the escapes', () => {
    const other = member.filter((name) => !['name', 'tag', 'x', 'nmae'].includes(name))
    holds(
      fc.property(fc.uniqueArray(other, { maxLength: 30 }), json, (names, value) => {
        const spelled = names.map((name) => `${allEscaped(JSON.stringify(name))}:${value}`)
        const body = read(`{${[...spelled, '"\\u0074ag":"\\ud83d\\ude00"', '"name":null', '"x":1.0'].join(',')}}`)
        assert.deepEqual([body.text('tag'), body.text('name'), body.text('x')], ['😀', null, NOT_TEXT])
        const shown = ['id', 'tag', 'nmae'].map((name) => body.has(name))
        assert.deepEqual(shown, [names.includes('id'), true, false])
      }),
    )
  })

  test('are 40002 when a name occurs twice, even in two spellings or among many names', () => {
    const some = fc.uniqueArray(member, { minLength: 1, maxLength: 40 })
    holds(
      fc.property(some, fc.nat(), fc.nat(), fc.boolean(), (names, which, where, escaped) => {
        const spelled = names.map((name) => JSON.stringify(name))
        const again = spelled[which % names.length] ?? ''
        const twice = spelled.toSpliced(where % (names.length + 1), 0, escaped ? allEscaped(again) : again)
        const text = `{${twice.map((name) => `${name}:[1,2]`).join(',')}}`
        const number = numberOf(() => read(text))
        assert.equal(number, 40002)
      }),
    )
  })

  test('are named in the refusal of a name that occurs twice', () => {
    for (const [names, told] of [
      [['id', 'i\\u0064'], 'id'],
      [['a', 'b', 'b'], 'b'],
      [[...Array(20).keys(), 7], '7'],
      [['hunter 2', 'hunter 2'], 'the same member'],
    ] as const) {
      const text = `{${names.map((name) => `"${name}":0`).join(',')}}`
      assert.throws(() => read(text), { message: `the body has ${told} more than once; send each member once` })
    }
  })
})

suite('an integer member', () => {
  test('is exact at any place in the text', () => {
    const others = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), json), { maxLength: 3 })
    holds(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), others, fc.nat(), (id, beside, at) => {
        const unique = [...new Map(beside)].map(([name, value]) => `"${name}":${value}`)
        const nested = '"deep":{"id":1.5,"a":[{"id":9007199254740993}]}'
        const text = `{${unique.toSpliced(at % (unique.length + 1), 0, `"\\u0069d":${id}`, nested).join(',')}}`
        assert.equal(read(text).int64('id'), id)
      }),
      { numRuns: 1000 },
    )
  })

  test('is refused when it is absent, nested or not a number', () => {
    for (const text of [
      '{}',
      '{"a":{"id":1}}',
      '{"id":"1"}',
      '{"id":null}',
      '[1]',
      '1',
      'null',
      '{"id":[1]}',
      '{"Id":1}',
    ]) {
      assert.equal(read(text).int64('id'), 'not an integer', text)
    }
  })

  test('is what exact arithmetic makes of every JSON number, and of nothing else', () => {
    const int64 = fc.bigInt({ min: MIN_ID, max: MAX_ID })
    holds(
      fc.property(fc.oneof(numberText, int64.chain(integerSpelling)), (spelling) => {
        const value = exactInteger(spelling)
        const expected =
          value === undefined ? 'not an integer' : value < MIN_ID || value > MAX_ID ? 'out of range' : value
        assert.equal(int64Of(spelling), expected)
      }),
      { numRuns: 5000 },
    )
    for (const source of [
      '',
      ' 7',
      '7 ',
      '+7',
      '.7',
      '7.',
      '7e',
      '0x7',
      '7n',
      'NaN',
      'Infinity',
      '--7',
      '"7"',
      '7_0',
    ]) {
      assert.equal(int64Of(source), 'not an integer', source)
    }
  })

  test('takes time in proportion to its number of digits', () => {
    const digits = '9'.repeat(10 ** 6)
    for (const [source, expected] of [
      [digits, 'out of range'],
      [`0.${digits}`, 'not an integer'],
      [`1e${digits}`, 'out of range'],
      [`1e-${digits}`, 'not an integer'],
      [`0e${digits}`, 0n],
      [`${'1'.padEnd(10 ** 6, '0')}e-999999`, 1n],
      [`0.${'0'.repeat(10 ** 6)}1e1000001`, 1n],
    ] as const) {
      assert.equal(int64Of(source), expected)
    }
  })
})
