import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { suite, test } from 'node:test'

const ROOT = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')

const CALL = /^( *)(test|clearTest|onEmpty|onService|suite)\(\s*(['"`])(.*?)\3,/gms

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
      for (const file of files) assert.ok(existsSync(new URL(file, ROOT)), `${page} cites ${file}`)
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
    for (const file of globSync('test/**/*.ts', { cwd: ROOT })) {
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
