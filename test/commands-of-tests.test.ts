import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { suite, test } from 'node:test'
import { filesOf, ROOT } from '../scripts/repository.ts'
import { filesToRun, TEST_COMMANDS } from '../scripts/test-files.ts'

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** What other commands run: test:citus and check:packages. */
const OF_OTHER_COMMANDS = /\.(?:citus|check)\.ts$/

/** The files that a file imports, also one by one from its folder of the same name. */
const importsOf = (file: string): string[] => [
  ...filesOf(`${file.replace(/\.test\.ts$/, '')}/*.test.ts`),
  ...[...read(file).matchAll(/(?:from|import) '(\.[^']*\.ts)'/g)].map(([, path = '']) => join(dirname(file), path)),
]

suite('every file of tests', () => {
  const run = TEST_COMMANDS.flatMap((command) => filesToRun(command))

  test('is run by one command at most', () => assert.deepEqual(run, [...new Set(run)]))

  test('is run by a command, or imported by a file that is', () => {
    const reached = new Set([...run, ...filesOf('test/**/*.{citus,check}.ts')])
    for (const file of reached) {
      for (const imported of importsOf(file)) if (imported.startsWith('test/')) reached.add(imported)
    }
    const withTests = filesOf('test/**/*.ts').filter((file) =>
      /^ *(?:test|clearTest|onEmpty|onService|inBrowser|onPhone)\(/m.test(read(file)),
    )
    assert.ok(withTests.length > 200, 'the files are found')
    const of = withTests.filter((file) => !reached.has(file) && !OF_OTHER_COMMANDS.test(file))
    assert.deepEqual(of, [])
  })

  test('is named as CI and CONTRIBUTING.md do', () => {
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
    for (const name of ['test', 'test:page', 'test:hard']) {
      const command = name === 'test' ? 'npm test' : `npm run ${name}`
      assert.match(scripts[name] ?? '', /^node bin\/node\.js scripts\/test\.ts \w+$/)
      assert.ok(read('CONTRIBUTING.md').includes(`| \`${command}\` |`), command)
      assert.ok(read('.github/workflows/ci.yml').includes(`"${command.replace('npm ', '')}"`), command)
      assert.ok(read('.ci/run').includes(name), command)
    }
  })
})
