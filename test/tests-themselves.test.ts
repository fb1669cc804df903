import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { suite, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { filesOf, ROOT } from '../scripts/repository.ts'
import { filesToRun, TEST_COMMANDS } from '../scripts/test-files.ts'
import type { Scene } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { TIMES_VARIABLE } from './support/processor-time.ts'
import { holds } from './support/property.ts'
import { SHORTFALLS_VARIABLE, WHOLE_VARIABLE } from './support/shortfalls.ts'

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

// The properties here are to run out of time, which is no shortfall of the run.
delete process.env[SHORTFALLS_VARIABLE]

suite('a property test', () => {
  test('names its seed and its counterexample when it fails', async () => {
    const fails = (value: number) => assert.ok(value < 5)
    const message = /seed: -?\d+, path: "[\d:]+"[\s\S]*Counterexample: \[5\]/
    assert.throws(() => holds(fc.property(fc.nat(), fails)), message)
    await assert.rejects(holds(fc.asyncProperty(fc.nat(), async (value) => fails(value))), message)
  })

  test('ends when its time is over, and passes with the runs so far', async () => {
    let runs = 0
    let underWay = 0
    const slow = fc.asyncProperty(fc.nat(), async () => {
      underWay++
      await setTimeout(20)
      underWay--
      runs++
    })
    await holds(slow, { numRuns: 1_000_000, budget: 200 })
    assert.ok(runs > 0)
    assert.equal(underWay, 0, 'the last run has ended too')
    let tried = 0
    holds(
      fc.property(fc.nat(), () => {
        tried++
      }),
      { numRuns: 1_000_000_000, budget: 50 },
    )
    assert.ok(tried > 0)
  })

  test('fails if its last run fails or takes too long', async () => {
    let runs = 0
    const late = (work: () => Promise<void>) =>
      fc.asyncProperty(fc.nat(), async () => {
        if (runs++ > 0) await work()
      })
    const failing = async () => {
      await setTimeout(300)
      throw new Error('late')
    }
    await assert.rejects(holds(late(failing), { budget: 100 }), /the last run of the property failed; seed: -?\d+/)
    runs = 0
    const hanging = () => new Promise<void>(() => {})
    const trials = { budget: 100, timeout: 100 }
    await assert.rejects(holds(late(hanging), trials), /a run of the property does not end; seed: -?\d+/)
  })
})

const support = (name: string): string => JSON.stringify(new URL(`./support/${name}.ts`, import.meta.url).href)

/** Runs a file of tests as `npm test` does. @returns the exit code, and the line about what was not tested */
function runs(scene: Scene, tests: string, env: Readonly<Record<string, string>>) {
  const file = join(tempFolder(scene), 'a.test.ts')
  writeFileSync(
    file,
    `import { test } from 'node:test'
import fc from ${JSON.stringify(import.meta.resolve('fast-check'))}
import { notTestedHere } from ${support('not-tested')}
import { holds } from ${support('property')}
${tests}`,
  )
  const { NODE_TEST_CONTEXT: _, [TIMES_VARIABLE]: __, [WHOLE_VARIABLE]: ___, ...own } = process.env
  const options = { cwd: ROOT, encoding: 'utf8', env: { ...own, ...env } } as const
  const args = ['--test', '--test-reporter=./test/support/reporter.ts', file]
  const { status, stdout } = spawnSync(process.execPath, args, options)
  return { status, line: /not tested here: .*/.exec(stdout)?.[0] }
}

const SLOW = `test('a', async () => {
  const slow = fc.asyncProperty(fc.integer(), () => new Promise((resolve) => setTimeout(resolve, 50)))
  await holds(slow, { numRuns: 1000, budget: 120 })
})`

suite('the end of a run of tests', () => {
  test('counts what was not tested, and properties that were tried fewer than a tenth of their times', (t) => {
    const shortfalls = { [SHORTFALLS_VARIABLE]: join(tempFolder(t), 'shortfalls') }
    const { status, line } = runs(t, `${SLOW}\ntest('b', (t) => notTestedHere(t, 'a disk'))`, shortfalls)
    assert.match(line ?? '', /^not tested here: 1; properties tried fewer .*: 1: \S*a\.test\.ts \d of 1000$/)
    assert.equal(status, 0)
  })

  test('fails for what was not tested where the machine has all that tests take', (t) => {
    const noted = () => ({ [WHOLE_VARIABLE]: 'yes', [SHORTFALLS_VARIABLE]: join(tempFolder(t), 'shortfalls') })
    assert.equal(runs(t, `test('a', (t) => notTestedHere(t, 'a disk'))`, noted()).status, 1)
    assert.equal(runs(t, SLOW, noted()).status, 1)
    const whole = runs(t, `test('a', () => holds(fc.property(fc.integer(), () => true), { numRuns: 10 }))`, noted())
    assert.deepEqual([whole.status, whole.line?.startsWith('not tested here: 0;')], [0, true])
  })
})
