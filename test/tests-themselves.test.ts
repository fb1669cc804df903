import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { suite, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { filesOf, ROOT } from '../scripts/repository.ts'
import { filesToRun, TEST_COMMANDS } from '../scripts/test-files.ts'
import type { Scene } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { TIMES_VARIABLE } from './support/processor-time.ts'
import { holds } from './support/property.ts'
import type { Case, Way } from './support/recorded-answers.ts'
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
    for (const budget of [200, 1]) {
      runs = 0
      await holds(slow, { numRuns: 1_000_000, budget })
      assert.ok(runs > 0)
      assert.equal(underWay, 0, 'the last run has ended too')
    }
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

const PROGRAM = fileURLToPath(new URL('support/recorded-answers.ts', import.meta.url))
const WAYS: readonly Way[] = ['http.request', 'fetch', 'bytes on a socket']
const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Request-Id': 'a',
  'X-Content-Type-Options': 'nosniff',
}
/** An answer that the contract allows. */
const RIGHT: Omit<Case, 'way'> = {
  path: '/health/live',
  status: 200,
  headers: HEADERS,
  body: '{"status":"live"}',
  isChunked: false,
  coding: 'identity',
  isExpected: false,
}
const WRONG = '{"status":"dead"}'

/** Receives each answer by every kind of client, and compares the fault found with the pattern; undefined: no fault. */
async function expectFaults(...expected: readonly [other: Partial<Case>, fault: RegExp | undefined][]): Promise<void> {
  const cases = expected.flatMap(([other]) => WAYS.map((way): Case => ({ ...RIGHT, way, ...other })))
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, JSON.stringify(cases)])
  const found = JSON.parse(stdout) as string[]
  assert.equal(found.length, cases.length)
  found.forEach((text, i) => {
    const [, fault] = expected[Math.floor(i / WAYS.length)] ?? assert.fail()
    const about = JSON.stringify(cases[i])
    if (fault === undefined) assert.equal(text, '', about)
    else assert.match(text, fault, about)
  })
}

suite('an answer that violates the contract fails its test, whichever client receives it,', () => {
  test('by its status or headers', async () => {
    const { 'Cache-Control': _, ...incomplete } = HEADERS
    await expectFaults(
      [{}, undefined],
      [{ status: 418 }, /getLiveness 418.*the contract lacks this status/],
      [{ headers: { ...HEADERS, 'X-New': '1' } }, /does not declare these headers[\s\S]*x-new/],
      [{ headers: { ...HEADERS, 'X-Content-Type-Options': 'x' } }, /x-content-type-options: x/],
      [{ headers: incomplete }, /the header cache-control is missing/],
      [{ headers: { ...HEADERS, 'Content-Type': 'text/html' } }, /media type text\/html is not/],
    )
  })

  test('by its body, chunked or compressed', async () => {
    const framings = [false, true].flatMap((isChunked) =>
      (['identity', 'gzip', 'br', 'zstd'] as const).map((coding) => ({ isChunked, coding })),
    )
    await expectFaults(
      ...framings.map((framing): [Partial<Case>, undefined] => [framing, undefined]),
      ...framings.map((framing): [Partial<Case>, RegExp] => [
        { ...framing, body: WRONG },
        /getLiveness 200 .*dead.*must be equal to/,
      ]),
    )
  })

  test('by a missing request id, on an unknown path too', async () => {
    const { 'X-Request-Id': _, ...nameless } = HEADERS
    const nowhere = { path: '/nowhere', status: 404, isExpected: true }
    await expectFaults(
      [{ isExpected: true }, undefined],
      [{ isExpected: true, headers: nameless }, /getLiveness 200: the header x-request-id is missing/],
      [{ ...nowhere, headers: nameless }, /GET \/nowhere 404: the header x-request-id is missing/],
      [{ ...nowhere, body: '{"error":40401,"message":"no"}' }, undefined],
      [{ ...nowhere, body: '{"error":40401}' }, /GET \/nowhere/],
    )
  })

  test('but not if the test itself runs the server', async () => {
    const { 'X-Request-Id': _, ...other } = HEADERS
    await expectFaults([{ status: 418, headers: other, body: WRONG }, undefined])
  })
})
