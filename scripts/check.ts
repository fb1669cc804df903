// `npm run check`: runs all checks that need no running service, even after one has failed.
import { spawnSync } from 'node:child_process'
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
  { name: 'types of the client', args: ['node_modules/typescript/bin/tsc', '-p', 'client/tsconfig.json'] },
  { name: 'generated files', args: ['scripts/generate.ts', '--check'], remedy: 'npm run generate' },
  { name: 'links', args: ['scripts/check-links.ts'] },
  { name: 'lock file', args: ['scripts/check-lockfile.ts'] },
  { name: 'actions', args: ['scripts/check-actions.ts'] },
  { name: 'test policy', args: ['scripts/check-tests.ts'] },
]

const failed = CHECKS.filter((check) => !passes(check))
if (failed.length > 0) {
  console.error(`\n${failed.length} of ${CHECKS.length} checks failed: ${failed.map(({ name }) => name).join(', ')}`)
  process.exitCode = 1
} else console.log(`\nAll ${CHECKS.length} checks passed.`)

function passes({ name, args, remedy }: Check): boolean {
  const started = performance.now()
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
  const took = `${((performance.now() - started) / 1000).toFixed(1)} s`
  if (status === 0) {
    console.log(`ok      ${name} (${took})`)
    return true
  }
  console.error(`FAILED  ${name} (${took})${remedy === undefined ? '' : `; this corrects most faults: ${remedy}`}`)
  console.error(`${stdout}${stderr}${error ?? ''}`.trimEnd().replaceAll(/^/gm, '        '))
  return false
}
