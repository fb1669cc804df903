import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import {
  compareCodePoints,
  filterOf,
  fold,
  matches,
  plantWords,
  SORT_KEY_LENGTH,
  sortKey,
  words,
} from '../../src/domain/plant-query.ts'
import { anyText } from '../support/plants.ts'
import { anyCharacter, holds } from '../support/property.ts'
import { modelMatches, modelWords, TRICKY } from '../support/word-model.ts'

/** Characters in a block of BLOCKS. */
const BLOCK = 2048
const UNASSIGNED = /^[\p{Cn}\p{Co}]*$/u
/** Every code point except surrogates, in blocks; of the blocks without assigned characters, one of each plane. */
const BLOCKS = Array.from({ length: 0x110000 / BLOCK }, (_, i) => i * BLOCK)
  .filter((first) => first !== 0xd800)
  .map((first) => ({ first, characters: Array.from({ length: BLOCK }, (_, i) => String.fromCodePoint(first + i)) }))
  .filter(({ first, characters }) => first % 0x10000 === 0 || !UNASSIGNED.test(characters.join('')))

/** Fails unless both functions give the same for the lines with one character each. */
function assertSame(one: (lines: string) => string, other: (lines: string) => string, line = (c: string) => c): void {
  for (const { first, characters } of BLOCKS) {
    const lines = characters.map(line).join('\n')
    const [left, right] = [one(lines), other(lines)]
    if (left !== right) assert.deepEqual(left.split('\n'), right.split('\n'), `from U+${first.toString(16)}`)
  }
}

/** Marks of several classes, characters that decompose into some, and syllables and fillers of Hangul. */
const MARKED = [
  '\u0323',
  '\u0301',
  '\u0345',
  '\u3099',
  '\uff9e',
  '\u1f82',
  '\u{1d160}',
  'İ',
  'Σ',
  '각',
  '\u1160',
  '\u3164',
  'a',
]

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

suite('folding', () => {
  const FOLDED = {
    'Monstera Deliciosa': 'monstera deliciosa',
    crème: 'creme',
    'cre\u0300me': 'creme',
    Ångström: 'angstrom',
    ΦΊΚΟΣ: 'φικοσ',
    φίκος: 'φικοσ',
    ß: 'ss',
    ẞ: 'ss',
    STRASSE: 'strasse',
    straße: 'strasse',
    İ: 'i',
    ı: 'i',
    ﬁcus: 'ficus',
    ﬀ: 'ff',
    ſ: 's',
    Ⅷ: 'viii',
    ＡＬＯＥ: 'aloe',
    'Ǆ ǅ ǆ': 'dz dz dz',
    नीम: 'नम',
    'Ё й': 'е и',
    '🌵 × ½': '🌵 × 1⁄2',
    'so\u00adft\u200b\u2060ly\ufeff': 'softly',
    'نمی\u200cخواهم': 'نمیخواهم',
    '\u3164ㅎ': '\u1112',
  }

  test('removes differences of case, accents and compatibility forms', () => {
    for (const [text, folded] of Object.entries(FOLDED)) assert.equal(fold(text), folded, text)
  })

  test('changes nothing when applied again', () => {
    assertSame(fold, (lines) => fold(fold(lines)))
    holds(fc.property(anyText, (text) => assert.equal(fold(fold(text)), fold(text))))
  })

  test('is as if marks went only after the decomposition, which takes quadratic time', () => {
    const plainly = (text: string) => text.normalize('NFKD').replaceAll(/[\p{M}\p{DI}]+/gv, '')
    const slowly = (text: string) =>
      plainly(plainly(text).toLowerCase().toUpperCase().toLowerCase()).replaceAll('ς', 'σ')
    for (let first = 0; first < 0x110000; first += BLOCK) {
      if (first === 0xd800) continue
      const points = Array.from({ length: BLOCK }, (_, i) => String.fromCodePoint(first + i))
      for (const lines of [points.join('\n'), points.join('\u0323\n\u0301'), points.join('')]) {
        assert.equal(fold(lines), slowly(lines), `from U+${first.toString(16)}`)
      }
    }
    const marked = fc.string({ unit: fc.oneof(fc.constantFrom(...MARKED), anyCharacter), maxLength: 30 })
    holds(
      fc.property(marked, (text) => assert.equal(fold(text), slowly(text))),
      { numRuns: 20_000 },
    )
  })

  test('of a long text is that of its parts, so that the start of it is enough for words and keys', () => {
    // Hybrid signs before the key, characters that become many, and pairs of surrogates.
    const pieces = ['x ', '× ', '+', '\ufdfa', '🌹', '𝔸', '-', '"', ...MARKED]
    const long = fc.array(fc.tuple(fc.constantFrom(...pieces), fc.nat(40)), { minLength: 5, maxLength: 30 })
    holds(
      fc.property(long, (parts) => {
        const name = Array.from(parts.map(([unit, count]) => unit.repeat(count)).join(''))
          .slice(0, 1000)
          .join('')
        const folded = fold(name)
        assert.equal(sortKey(fold(name.slice(0, 512).replace(/[\ud800-\udbff]$/, ''))), sortKey(name))
        if (folded.length > 2000) return
        assert.deepEqual(plantWords({ name, tag: undefined }), plantWords({ name: folded, tag: undefined }))
      }),
    )
  })

  test('gives one result for a character, its lower case and its composed form', () => {
    assertSame(fold, (lines) => fold(lines.toLowerCase()))
    assertSame(fold, (lines) => fold(lines.normalize('NFC')))
  })
})

suite('the words of a text', () => {
  test('are runs of letters and digits, and single pictographs', () => {
    assert.deepEqual(words(''), [])
    assert.deepEqual(words(' -\'*%"\t'), [])
    assert.deepEqual(words("Rosa × 'Graham Thomas' (R. 2)"), ['rosa', 'x', 'graham', 'thomas', 'r', '2'])
    assert.deepEqual(words('Aloe🌵🌿vera'), ['aloe', '🌵', '🌿', 'vera'])
    assert.deepEqual(words('E\u0301chium_ÉCHIUM'), ['echium', 'echium'])
    assert.deepEqual(words('龍舌蘭 ٣'), ['龍舌蘭', '٣'])
  })

  test('are also flags and symbols that look like pictographs, but no other signs', () => {
    assert.deepEqual(words('🇩🇪🇫🇷🇯 rose'), ['🇩🇪', '🇫🇷', '🇯', 'rose'])
    assert.deepEqual(words('👍🏽✿★♀'), ['👍', '🏽', '✿', '★', '♀'])
    assert.deepEqual(words('€ !!! → ° ■'), [])
  })

  test('have x for the hybrid sign', () => {
    for (const text of ['Rosa × alba', 'Rosa ×alba', 'Rosa×alba', 'ROSA X ALBA']) {
      assert.deepEqual(words(text), ['rosa', 'x', 'alba'])
    }
  })

  test('are not split by invisible characters', () => {
    assert.deepEqual(words('so\u00adft mon\u200bstera'), ['soft', 'monstera'])
    assert.deepEqual(words('👨\u200d🌾 🏴\u{e0067}\u{e0062}\u{e007f}'), ['👨', '🌾', '🏴'])
  })

  test('are those of a model that reads one character after the other', () => {
    const joined = (of: typeof words) => (lines: string) => of(lines).join('\n')
    assertSame(joined(words), joined(modelWords), (character) => `a${character}b`)
    const tricky = fc.string({ unit: fc.constantFrom(...TRICKY), maxLength: 20 })
    holds(
      fc.property(fc.oneof(tricky, anyText), (text) => assert.deepEqual(words(text), modelWords(text))),
      { numRuns: 5000 },
    )
  })

  test('are the text itself if the text is a word', () => {
    holds(
      fc.property(anyText, (text) => {
        for (const word of words(text)) assert.deepEqual(words(word), [word])
      }),
    )
  })
})

test('a search finds the plants of the rule for words, with hybrid signs, hyphens and neither', () => {
  const text = fc.string({ unit: fc.constantFrom('x', '×', 'X', ' ', '-', '\u2010', 'a', 'b', '🌵'), maxLength: 7 })
  holds(
    fc.property(text, text, text, (q, name, tag) => {
      const filter = filterOf({ q })
      const isFound = filter !== undefined && matches(filter, { name, tag })
      assert.equal(isFound, modelMatches(q, { name, tag }))
    }),
    { numRuns: 5000 },
  )
})

suite('the order of names', () => {
  test('compares code points, not UTF-16 code units', () => {
    const ascending = ['', '\u0001', 'A', 'a', 'aa', 'b', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}']
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries()) assert.equal(Math.sign(compareCodePoints(a, b)), Math.sign(i - j))
    }
    assert.ok('\uffff' > '\u{10000}', 'the order of JavaScript')
    holds(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (a, b) =>
        assert.equal(Math.sign(compareCodePoints(a, b)), Math.sign(byBytes(a, b))),
      ),
    )
  })

  test('compares only the first characters of folded names', () => {
    assert.equal(sortKey('Échium'), 'echium')
    assert.equal(sortKey('x'.repeat(1000)), 'x'.repeat(SORT_KEY_LENGTH))
    assert.equal(sortKey('🌵'.repeat(1000)), '🌵'.repeat(SORT_KEY_LENGTH))
    assert.equal(sortKey(`x${'🌵'.repeat(1000)}`), `x${'🌵'.repeat(SORT_KEY_LENGTH - 1)}`)
    assert.equal(sortKey('e\u0301'.repeat(1000)), 'e'.repeat(SORT_KEY_LENGTH))
  })

  test('has hybrid genera at their letter, and one quotation mark', () => {
    for (const name of ['×Cuprocyparis', '× Cuprocyparis', 'x Cuprocyparis', 'X CUPROCYPARIS', '+Cuprocyparis']) {
      assert.equal(sortKey(name), 'cuprocyparis', name)
    }
    for (const name of ['Xanthium', 'x1', '× 1', 'x', '+', '×']) assert.equal(sortKey(name), name.toLowerCase(), name)
    assert.equal(sortKey('Magnolia × soulangeana'), 'magnolia × soulangeana')
    for (const [open = '', close = ''] of ['‘’', '“”', '„“', '«»', '‹›', '""', '``', '´´', '′′']) {
      assert.equal(sortKey(`Acer ${open}Osakazuki${close}`), "acer 'osakazuki'", open)
    }
  })

  test('uses keys that are well-formed and bounded for every name', () => {
    const long = fc.string({ unit: anyCharacter, minLength: 100, maxLength: 3000 })
    holds(
      fc.property(fc.oneof(anyText, long), (name) => {
        const key = sortKey(name)
        assert.ok(key.isWellFormed())
        assert.ok(Array.from(key).length <= SORT_KEY_LENGTH)
        // Folding makes a quotation mark of four more characters, such as U+FF02, which keep their place by it.
        assert.equal(sortKey(key), key.replaceAll(/["`\u2032]/g, "'"))
      }),
    )
  })
})
