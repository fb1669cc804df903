import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { en } from '../../../web/src/language/en.ts'
import { CATALOGS, formsOf, longest, PSEUDO, wordsOf } from '../../support/pseudo-language.ts'

/** Blanks that a language does not have before its marks. In French, a line may not end before a mark either. */
const BLANKS: Readonly<Record<string, RegExp>> = { de: /\S…/, fr: /\s…| [:;?!»]|« / }
const SOURCES = new URL('../../../web/src/', import.meta.url)

const namesIn = (text: string): readonly string[] => [...text.matchAll(/\{(.*?)\}/g)].map(([, name = '']) => name)

suite('the texts of the page', () => {
  for (const [language, texts] of Object.entries(CATALOGS)) {
    test(`are complete in ${language}, each with the placeholders of the English one`, () => {
      assert.deepEqual(Object.keys(texts), Object.keys(en))
      for (const [key, english] of Object.entries(en)) {
        const names = new Set(formsOf(english).flatMap(namesIn))
        const forms = formsOf(texts[key])
        assert.equal(forms.length, formsOf(english).length, key)
        assert.deepEqual(new Set(forms.flatMap(namesIn)), names, key)
        for (const form of forms) {
          assert.ok(form.trim() !== '' && !/ {2}|\s$/.test(form), `${key}: ${form}`)
          assert.doesNotMatch(form, BLANKS[language] ?? /\s…/, key)
        }
      }
    })

    // So a view that has room for those has room for these, which a browser need not show.
    test(`are in ${language} no longer than the pseudo texts, nor are their words`, () => {
      for (const [key, text] of Object.entries(texts)) {
        const stretched = formsOf(PSEUDO[key])
        assert.deepEqual(new Set(stretched.flatMap(namesIn)), new Set(formsOf(text).flatMap(namesIn)), key)
        for (const pseudo of stretched) {
          assert.ok(pseudo.length >= longest(formsOf(text)), key)
          assert.ok(longest(wordsOf(pseudo)) >= longest(formsOf(text).flatMap(wordsOf)), key)
        }
      }
    })
  }

  test('are all in use, and the page uses no other', () => {
    const files = globSync('**/*.{ts,tsx}', { cwd: SOURCES, exclude: ['language/??.ts'] })
    const sources = files.map((name) => readFileSync(new URL(name, SOURCES), 'utf8')).join('\n')
    const unused = Object.keys(en).filter((key) => !sources.includes(`'${key}'`) && !sources.includes(`="${key}"`))
    assert.deepEqual(unused, [])
  })

  test('stand in no file but the catalogs', () => {
    // A text between two tags, or in an attribute that people read or hear.
    const written =
      />\s*(?!Plantstore<)\p{L}[\p{L}\s,.:;!?'’…()-]*\s*<\/(?!code)|\b(?:aria-label|title|placeholder|alt|label|text|note|stay|act)="[^"]*\p{L}/gu
    const files = globSync('**/*.tsx', { cwd: SOURCES, exclude: ['docs/**'] })
    const found = files.flatMap((name) =>
      [...readFileSync(new URL(name, SOURCES), 'utf8').matchAll(written)].map(([text]) => `${name}: ${text}`),
    )
    assert.deepEqual(found, [])
  })
})
