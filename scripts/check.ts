// `npm run check`: runs all checks that need no running service side by side, even after one has failed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { ROOT } from './repository.ts'

interface Check {
  readonly name: string
  /** The arguments of Node.js, which runs the check without a shell, the same on every system. */
  readonly args: readonly string[]
  /** The command that corrects most faults. */
  readonly remedy?: string
}

const CHECKS: readonly Check[] = [
  {
    name: 'format and lint',
    args: ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
    remedy: 'npm run format',
  },
  { name: 'types', args: ['node_modules/typescript/bin/tsc'] },
  { name: 'types of the pages', args: ['node_modules/typescript/bin/tsc', '-p', 'web/tsconfig.json'] },
  { name: 'types of the worker', args: ['node_modules/typescript/bin/tsc', '-p', 'web/worker/tsconfig.json'] },
  { name: 'types of the client', args: ['node_modules/typescript/bin/tsc', '-p', 'client/tsconfig.json'] },
  { name: 'generated files', args: ['scripts/generate.ts', '--check'], remedy: 'npm run generate' },
  { name: 'links', args: ['scripts/check-links.ts'] },
  { name: 'lock file', args: ['scripts/check-lockfile.ts'] },
  { name: 'actions', args: ['scripts/check-actions.ts'] },
  { name: 'known faults', args: ['scripts/check-advisories.ts'] },
  { name: 'test policy', args: ['scripts/check-tests.ts'] },
]

const waiting = [...CHECKS]
const failed: string[] = []
await Promise.all(Array.from({ length: availableParallelism() }, runWaiting))
if (failed.length > 0) {
  console.error(`\n${failed.length} of ${CHECKS.length} checks failed: ${failed.join(', ')}`)
  process.exitCode = 1
} else console.log(`\nAll ${CHECKS.length} checks passed.`)

async function runWaiting(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (!(await passes(next))) failed.push(next.name)
  }
}

async function passes({ name, args, remedy }: Check): Promise<boolean> {
  const started = performance.now()
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [status, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  const took = `${((performance.now() - started) / 1000).toFixed(1)} s`
  if (status === 0) {
    console.log(`ok      ${name} (${took})`)
    if (stdout.startsWith('NOT CHECKED HERE')) console.log(`        ${stdout.trimEnd()}`)
    return true
  }
  console.error(`FAILED  ${name} (${took})${remedy === undefined ? '' : `; this corrects most faults: ${remedy}`}`)
  console.error(`${stdout}${stderr}${signal ?? ''}`.trimEnd().replaceAll(/^/gm, '        '))
  return false
}
