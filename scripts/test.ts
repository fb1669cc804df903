// `npm test`, `npm run test:page`, `npm run test:hard` and `npm run test:all`: runs the files of tests of the named
// commands, one command after the other; with names of files, these alone.
import { spawnSync } from 'node:child_process'
import { ROOT } from './repository.ts'
import { filesToRun, TEST_COMMANDS } from './test-files.ts'

/**
 * Files at once: more than the two cores of a small machine, because many tests wait for disks, timers and other
 * processes. Of those of `npm test`, three took 1.5 cores; those of the other commands measure floods and browsers.
 */
const AT_ONCE = 3
const AT_ONCE_OF_WHOLE = 4
/** Milliseconds after which a test is ended: the longest one takes half of it on a machine with four times its load. */
const LONGEST_TEST = 240_000
/**
 * Milliseconds after which a run is ended: one beside three others on two cores takes half of it. Node.js bounds the time
 * of a test, and not that of a file whose event loop stands. It then names the files that were running.
 */
const LONGEST = 60 * 60_000

const [asked = '', ...named] = process.argv.slice(2)
const commands = TEST_COMMANDS.filter((command) => asked === command || asked === 'all')
const runs = named.length > 0 ? [named] : commands.map(filesToRun)
if (commands.length === 0) {
  console.error(`test: say which tests: ${TEST_COMMANDS.join(', ')} or all`)
  process.exitCode = 2
}
for (const files of runs) {
  const args = [
    // By its whole address, because threads load it too, in whatever folder their process is by then.
    `--import=${new URL('../test/support/processor-time.ts', import.meta.url).href}`,
    '--test',
    `--test-concurrency=${asked === 'whole' ? AT_ONCE_OF_WHOLE : AT_ONCE}`,
    `--test-timeout=${LONGEST_TEST}`,
    '--test-global-setup=test/support/global-setup.ts',
    '--test-reporter=./test/support/reporter.ts',
    ...files,
  ]
  const { status, error } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit', timeout: LONGEST })
  if (error !== undefined) console.error(`test: ${error.message}`)
  if (error !== undefined || status !== 0) process.exitCode = status || 1
}
