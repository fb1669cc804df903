import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { garbledCode, isGarbledSignIn, withoutMarks } from '../../../web/src/codes/typed-code.ts'
import { asTyped, type CapsLock, KEYBOARDS } from '../../support/keyboards.ts'
import { anyId } from '../../support/plants.ts'
import { holds } from '../../support/property.ts'

const ORIGINS = ['http://127.0.0.1:8080', 'https://plants.example', 'http://yew-zoo.local']
const CAPS: readonly CapsLock[] = ['off', 'letters', 'own']
const labelOf = (origin: string, id: bigint) => `${origin}/#/plant?id=${id}`

suite('the address of a label, typed by a scanner on', () => {
  for (const [name, keyboard] of Object.entries(KEYBOARDS)) {
    test(`a ${name} keyboard has the same manner for each label of a service, and another one for another service`, () => {
      const mannerOf = (origin: string, id: bigint) => garbledCode(asTyped(labelOf(origin, id), keyboard))?.manner
      const manner = mannerOf('https://plants.example', 7n)
      assert.equal(mannerOf('https://plants.example', 681n), manner)
      assert.notEqual(mannerOf('https://plants.example', -7n), manner)
      assert.notEqual(mannerOf('https://plants.example.org', 7n), manner)
    })

    test(`a ${name} keyboard has its id, within marks too, and no other where the computer swallows a dead key`, () => {
      const code = fc.record({ id: anyId, caps: fc.constantFrom(...CAPS), origin: fc.constantFrom(...ORIGINS) })
      const marks = fc.tuple(fc.constantFrom('', ']Q1', '*', ']d2'), fc.constantFrom('', '\\n', '\\r\\n'))
      holds(
        fc.property(code, marks, ({ id, caps, origin }, [before, after]) => {
          const marked = asTyped(`${before}${labelOf(origin, id)}${after}`, keyboard, caps)
          assert.equal(garbledCode(marked)?.id, id, marked)
          const typed = asTyped(labelOf(origin, id), keyboard, caps)
          const equals = typed.length - String(id).length - 1
          if (keyboard.dead?.includes(typed[equals] ?? '') !== true) return
          // Some input methods swallow the key after it as well.
          assert.equal(garbledCode(typed.slice(0, equals) + typed.slice(equals + 2)), undefined)
          if (id >= 0n) assert.equal(garbledCode(typed.slice(0, equals) + typed.slice(equals + 1)), undefined)
        }),
        { numRuns: 300 },
      )
    })
  }
})

test('an id alone is read from French and Belgian digits, and from within the marks of a scanner', () => {
  for (const [typed, id] of [
    ['&é"\'(-è_çà', 1234567890n],
    ['&é"\'(§è!çà', 1234567890n],
    [')è', -7n],
    [']Q17', 7n],
    [']Q1-7', -7n],
    ['*42*', 42n],
    ['42\\n', 42n],
    ['42\\r\\n', 42n],
    ['çÉ', 92n],
  ] as const) {
    assert.equal(garbledCode(typed)?.id, id, typed)
  }
})

test('other texts are no labels', () => {
  for (const text of [
    '',
    'rose',
    'é la',
    '7a',
    ']Q107',
    'q7',
    '§!-è',
    'http://plants.example/#/plant?id=7x',
    'http://plants.example/other#/plant?id=7',
    'httpÖ--plants.example-§-plant_id´',
    'httpÖ--plants.example-§-plant_id´07',
    'httpÖ--plants.example-§-plant_id´99999999999999999999',
    'httpÖ--plants.example-§-plant_id´7´8',
    'httpÖ--plants.example-§-plant_id⁷1',
    `httpÖ--${'a'.repeat(500)}-§-plant_id´7`,
    'javascriptÖalert81)--plant_id´7',
    // 76 of a French keyboard, or 7 and a mark of a Belgian one; and 7 and a mark, or 78.
    'è-',
    'è!',
  ]) {
    assert.equal(garbledCode(text), undefined, text)
  }
})

test('a label that signs in is known in every layout, so that nobody sees its secret', () => {
  for (const keyboard of Object.values(KEYBOARDS)) {
    assert.ok(isGarbledSignIn(asTyped('https://plants.example/#token=ps_0123', keyboard)))
  }
})

test('the marks of a scanner are taken off a code that is not garbled', () => {
  const label = 'https://plants.example/#/plant?id=-7'
  for (const typed of [`]Q1${label}`, `*${label}*`, `*${label}*\\n`, `${label}\\n`, ` ${label}\\r\\n`]) {
    assert.equal(withoutMarks(typed), label)
  }
})
