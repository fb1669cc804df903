import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../src/errors.ts'
import { int64Of, readJsonBody } from '../src/json-body.ts'

const read = (text: string, maxDepth = 32) => readJsonBody(Buffer.from(text), maxDepth)

function numberOf(work: () => unknown): number {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof AppError, String(error))
    return error.number
  }
  return assert.fail('nothing was refused')
}

/** JSON texts with the spacing, the escapes and the member names that trip readers up. */
const json = fc
  .tuple(fc.json({ maxDepth: 5, stringUnit: 'binary' }), fc.constantFrom('', ' ', '\n\t'))
  .map(([text, space]) => `${space}${text}${space}`)

suite('a JSON text', () => {
  test('is read as JSON.parse reads it, whatever it holds', () => {
    fc.assert(
      fc.property(json, (text) => {
        assert.deepEqual(read(text).value, JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('that JSON.parse refuses is 40001, and so is every cut of one', () => {
    fc.assert(
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
    assert.equal(
      numberOf(() => read('')),
      40001,
    )
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
  test('is counted in arrays and objects, not in texts, to the limit and no further', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        (levels, limit, array) => {
          const [open, close] = array ? ['[', ']'] : ['{"a":', '}']
          const text = `${open.repeat(levels)}"]}[{\\"[["${close.repeat(levels)}`
          if (levels <= limit) assert.doesNotThrow(() => read(text, limit))
          else
            assert.equal(
              numberOf(() => read(text, limit)),
              40001,
            )
        },
      ),
    )
  })
})

suite('the members of an object', () => {
  const member = fc.oneof(fc.constantFrom('id', 'name', '__proto__', '0', '', ',', '"', '\\', '{'), fc.string())

  test('may stand once each, under any name', () => {
    fc.assert(
      fc.property(fc.uniqueArray(member), json, (names, value) => {
        const text = `{${names.map((name) => `${JSON.stringify(name)}:${value}`).join(' , ')}}`
        assert.deepEqual(Object.keys(read(text).value as object).sort(), [...names].sort())
      }),
    )
  })

  test('are 40002 where one stands twice', () => {
    fc.assert(
      fc.property(fc.uniqueArray(member, { minLength: 1 }), fc.nat(), fc.nat(), (names, which, where) => {
        const twice = names.toSpliced(where % (names.length + 1), 0, names[which % names.length] ?? '')
        const text = `{${twice.map((name) => `${JSON.stringify(name)}:[1,2]`).join(',')}}`
        assert.equal(
          numberOf(() => read(text)),
          40002,
        )
      }),
    )
  })
})

suite('an integer member', () => {
  test('is exact, wherever it stands and whatever stands beside it', () => {
    const others = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), json), { maxLength: 3 })
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), others, fc.nat(), (id, beside, at) => {
        const unique = [...new Map(beside)].map(([name, value]) => `"${name}":${value}`)
        const nested = '"deep":{"id":1.5,"a":[{"id":9007199254740993}]}'
        const text = `{${unique.toSpliced(at % (unique.length + 1), 0, `"\\u0069d":${id}`, nested).join(',')}}`
        assert.equal(read(text).int64('id'), id)
      }),
      { numRuns: 1000 },
    )
  })

  test('is none where it is absent, nested or not a number', () => {
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

  test('costs no more than its digits, even a million of them', () => {
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
