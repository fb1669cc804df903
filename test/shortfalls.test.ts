import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { ROOT } from '../scripts/repository.ts'
import type { Scene } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { TIMES_VARIABLE } from './support/processor-time.ts'
import { SHORTFALLS_VARIABLE, WHOLE_VARIABLE } from './support/shortfalls.ts'

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
