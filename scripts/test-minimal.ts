// `npm run test:minimal [-- SYSTEM]`: runs the second command of the README, `npm ci && npm test`, and the other tests on
// a Debian or on the named system, which has nothing but Node.js and npm (scripts/minimal-root.ts).
import { spawnSync } from 'node:child_process'
import { MinimalRoot, minimalRootNeeds, SYSTEMS, type SystemName } from './minimal-root.ts'

const asked = process.argv[2] ?? 'Debian'
const names = Object.keys(SYSTEMS) as SystemName[]
const name = names.find((each) => each.startsWith(asked))
const needed = name && minimalRootNeeds(name)
if (name === undefined) fail(`test:minimal: ${asked} is none of ${names.join(', ')}`)
else if (needed !== undefined) fail(`test:minimal: NOT TESTED HERE: the tests on a plain ${name}, which need ${needed}`)
else process.exitCode = testIn(MinimalRoot.create(name))

function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}

/** @returns the exit code */
function testIn(root: MinimalRoot): number {
  try {
    root.copySources('/plantstore')
    const [command = '', ...args] = root.command(
      '/plantstore',
      'npm ci && npm test && npm run test:page && npm run test:hard',
    )
    return spawnSync(command, args, { stdio: 'inherit' }).status ?? 1
  } finally {
    root.remove()
  }
}
