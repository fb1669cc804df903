// Looks the packages of the lock file up in the advisory base of npm's registry (`npm audit`). Fails on known faults of
// what the service runs on from moderate on, and of development tools from high on. Where the base is out of reach, it
// says so and passes: a change must not depend on the network.
import { spawnSync } from 'node:child_process'
import { ROOT, report } from './repository.ts'

interface Audit {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>
}

/** @returns undefined where the base does not answer */
function audit(...args: readonly string[]): Audit | undefined {
  const options = { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' } as const
  const { stdout } = spawnSync('npm', ['audit', '--json', '--package-lock-only', ...args], options)
  try {
    const found = JSON.parse(stdout) as Audit
    return found.vulnerabilities === undefined ? undefined : found
  } catch {
    return undefined
  }
}

const faultsIn = ({ vulnerabilities = {} }: Audit, severities: readonly string[]): string[] =>
  Object.entries(vulnerabilities)
    .filter(([, { severity }]) => severities.includes(severity))
    .map(([name, { severity }]) => `${name}: ${severity}; "npm audit" has the details`)

const SERIOUS = ['high', 'critical']
const [production, all] = [audit('--omit=dev'), audit()]
if (production === undefined || all === undefined) {
  console.log('NOT CHECKED HERE: known faults of dependencies, because the advisory base is out of reach')
} else {
  const faults = new Set([...faultsIn(production, ['moderate', ...SERIOUS]), ...faultsIn(all, SERIOUS)])
  report([...faults], 'no dependency has a known fault')
}
