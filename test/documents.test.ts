import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { suite, test } from 'node:test'
import { filesOf, ROOT } from '../scripts/repository.ts'
import { SCOPES } from '../src/domain/token.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The modules that are too large to be read whole before a change. */
const LARGE = ['src/http', 'src/postgres', 'src/sqlite', 'src/webhooks', 'web']
/** Who waits for whom. */
const WAITS = 'docs/who-waits.md'
const designs = filesOf('{src/*,web,client}/DESIGN.md')

/** A link into the code, `file.ts:Name`, of a page. */
interface CodeLink {
  readonly file: string
  readonly name: string
}

function codeLinksIn(text: string): readonly CodeLink[] {
  const found = text.matchAll(/`([\w./-]+\.tsx?):([\w$]+)`/g)
  return [...found].map(([, file = '', name = '']) => ({ file, name }))
}

/** The files that a path may mean: from the root, from the folder of the page, or from its sources. */
const filesMeant = (page: string, file: string): readonly string[] =>
  [file, join(dirname(page), file), join(dirname(page), 'src', file)].filter((path) => existsSync(join(ROOT, path)))

/** Whether a file declares a name, on its top floor or as a member of a class. */
function declares(source: string, name: string): boolean {
  const declaration = `(?:async )?(?:function\\*?|const|let|class|abstract class|interface|type)\\s+${name}\\b`
  const member = `^ {2}(?:(?:static|async|readonly|get|set|override) )*\\*?${name}[(<?!:]`
  return new RegExp(`^(?:export )?(?:default )?${declaration}|${member}`, 'm').test(source)
}

suite('the pages of design', () => {
  test('are one for each large module', () => {
    for (const module of LARGE) assert.ok(designs.includes(`${module}/DESIGN.md`), `${module} has no DESIGN.md`)
  })

  test('have 1,500 to 2,500 words each', () => {
    for (const page of designs) {
      const words = read(page).split(/\s+/).length
      assert.ok(words >= 1500 && words <= 2500, `${page} has ${words} words`)
    }
  })

  for (const page of [...designs, WAITS]) {
    test(`name files and declarations that exist: ${page}`, () => {
      const text = read(page)
      const links = codeLinksIn(text)
      assert.ok(links.length > 15, 'the links are found')
      const stale = links.filter(({ file, name }) => !filesMeant(page, file).some((path) => declares(read(path), name)))
      assert.deepEqual(stale, [])
      const files = [...text.matchAll(/`((?:src|test|docs|sql|web|client|bench)\/[\w./-]+\.\w+)`/g)]
      for (const [, file = ''] of files) assert.notDeepEqual(filesMeant(page, file), [], `${page} names ${file}`)
    })
  }

  test('list no more than 40 waits: a new one comes for an old one', () => {
    const rows = read(WAITS).match(/^\| (?!---|queue ).*/gm) ?? []
    assert.ok(rows.length > 30 && rows.length <= 40, `${rows.length} rows`)
  })

  test('are linked from the list of documents', () => {
    for (const page of designs)
      assert.ok(read('docs/README.md').includes(`](../${page})`), `docs/README.md lacks ${page}`)
    for (const page of ['docs/README.md', 'docs/architecture.md'])
      assert.ok(read(page).includes('](who-waits.md)'), `${page} lacks ${WAITS}`)
  })

  test('are resolved by patterns that find declarations, and no uses', () => {
    const source = 'export class A {\n  readonly #b = 1\n  async *read(x) {\n    c()\n  }\n}\nconst D = 2\n'
    for (const name of ['A', 'read', 'D']) assert.ok(declares(source, name), name)
    for (const name of ['c', 'b', 'x']) assert.ok(!declares(source, name), name)
  })
})

const CALL = /^( *)(test|clearTest|on[A-Z]\w*|suite)\(\s*(['"`])(.*?)\3,/gms

/** The titles of the tests in a file, each after that of its suite. Those of generated tests contain `${…}`. */
function titlesIn(source: string): string[] {
  let suite = { indent: '', title: '' }
  return [...source.matchAll(CALL)].flatMap(([, indent = '', call, , title = '']) => {
    if (call === 'suite') suite = { indent, title }
    if (call === 'suite') return []
    return [suite.title !== '' && indent.length > suite.indent.length ? `${suite.title} ${title}` : title]
  })
}

suite('the tests that the reference cites', () => {
  for (const page of ['docs/reference/limits.md', 'docs/reference/security.md']) {
    test(`exist: ${page}`, () => {
      const files = [...read(page).matchAll(/`(test\/[\w./-]+\.ts)`/g)].map(([, file = '']) => file)
      assert.ok(files.length > 10, 'there are some')
      for (const file of files) assert.ok(existsSync(join(ROOT, file)), `${page} cites ${file}`)
    })
  }

  test('have the titles that docs/reference/security.md gives them', () => {
    const rows = [...read('docs/reference/security.md').matchAll(/^\| (.+?) \| `(test\/\S+)` \|$/gm)]
    assert.ok(rows.length > 30, 'there are some')
    for (const [, title = '', file = ''] of rows) {
      const titles = titlesIn(read(file))
      assert.ok(titles.includes(title) || titles.some((other) => fits(other, title)), `${file} has no test "${title}"`)
    }
  })

  test('stand in at most 45 rows of limits, each with its number first', () => {
    const rows = [...read('docs/reference/limits.md').matchAll(/^\| (?!---|Limit )(.*?) \|/gm)].map(
      ([, first = '']) => first,
    )
    assert.ok(rows.length > 30 && rows.length <= 45, `${rows.length} rows`)
    for (const first of rows) assert.match(first, /^(?:\d|off$)/)
  })

  test('share no title with another test of their files', () => {
    for (const file of filesOf('test/**/*.ts')) {
      const titles = titlesIn(read(file))
      assert.deepEqual(titles, [...new Set(titles)], file)
    }
  })

  test('are found by the pattern for titles', () => {
    const source = `test('a, b', f)\nsuite("it's", () => {\n  test(\`of \${x}\`, f)\n})\ntest(\n  'c',\n  f)`
    assert.deepEqual(titlesIn(source), ['a, b', `it's of \${x}`, 'c'])
    assert.ok(fits(`of \${x}: no`, 'of all: no'))
    assert.ok(!fits(`of \${x}: no`, 'of all: yes'))
  })
})

/** Whether a title with `${…}` can become this one. A title that is hardly more than `${…}` fits none. */
function fits(template: string, title: string): boolean {
  const parts = template.split(/\$\{[^}]*\}/)
  if (parts.length === 1 || parts.join('').length < 6) return false
  return new RegExp(`^${parts.map((part) => RegExp.escape(part)).join('.+')}$`, 's').test(title)
}

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
      const text = read(path)
      const incomplete = [...text.matchAll(LIST)].map(([list]) => list).filter((list) => !namesAll(list))
      const flags = [...text.matchAll(FLAG)].filter(([, list = '']) => list.split(',').length > 2).map(([flag]) => flag)
      return [...incomplete, ...flags].map((list) => `${path}: ${list}`)
    })
  assert.deepEqual(faults, [])
})

const namesAll = (list: string): boolean => SCOPES.every((scope) => new RegExp(`\\b${scope}\\b`).test(list))
