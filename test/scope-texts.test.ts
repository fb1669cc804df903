import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { filesOf, ROOT } from '../scripts/repository.ts'
import { SCOPES } from '../src/domain/token.ts'

const TEXTS = [
  '*.md',
  '{docs,client,packaging,monitoring,src,web/src}/**/*.{md,sh,yaml,yml,conf,ts,tsx}',
  '.github/**/*.yml',
]
/** Pages that scripts generate, and the changelog, which tells of earlier versions. */
const EXEMPT = /\.generated\.|^docs\/reference\/(?:commands|configuration)\.md$|^CHANGELOG\.md$/

/** Lists of three scopes or more, with blanks, commas and quotation marks between. */
const SCOPE = `(?:${SCOPES.join('|')})\\b`
const LIST = new RegExp(`\\b${SCOPE}(?:[\\s,\`'"]+(?:(?:and|or) )?[\`'"]?${SCOPE}){2,}`, 'g')
/** The scopes of a command. A token for one program has one or two; one for an administrator has `all`. */
const FLAG = /--scopes[ =]"?([\w:,]+)/g

test('no text lists the scopes of an administrator by hand: such a list lacks the next scope', () => {
  const faults = filesOf(...TEXTS)
    .filter((path) => !EXEMPT.test(path))
    .flatMap((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8')
      const incomplete = [...text.matchAll(LIST)].map(([list]) => list).filter((list) => !namesAll(list))
      const flags = [...text.matchAll(FLAG)].filter(([, list = '']) => list.split(',').length > 2).map(([flag]) => flag)
      return [...incomplete, ...flags].map((list) => `${path}: ${list}`)
    })
  assert.deepEqual(faults, [])
})

const namesAll = (list: string): boolean => SCOPES.every((scope) => new RegExp(`\\b${scope}\\b`).test(list))
