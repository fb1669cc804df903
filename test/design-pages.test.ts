import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { suite, test } from 'node:test'

const ROOT = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')

/** The modules that are too large to be read whole before a change. */
const LARGE = ['src/http', 'src/postgres', 'src/sqlite', 'src/webhooks', 'web']
/** Who waits for whom. */
const WAITS = 'docs/who-waits.md'
const designs = globSync('{src/*,web,client}/DESIGN.md', { cwd: ROOT }).map((page) => page.replaceAll('\\', '/'))

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
const filesOf = (page: string, file: string): readonly string[] =>
  [file, join(dirname(page), file), join(dirname(page), 'src', file)].filter((path) => existsSync(new URL(path, ROOT)))

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
      const stale = links.filter(({ file, name }) => !filesOf(page, file).some((path) => declares(read(path), name)))
      assert.deepEqual(stale, [])
      const files = [...text.matchAll(/`((?:src|test|docs|sql|web|client|bench)\/[\w./-]+\.\w+)`/g)]
      for (const [, file = ''] of files) assert.notDeepEqual(filesOf(page, file), [], `${page} names ${file}`)
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
