// `npm run test:minimal`: runs the second command of the README, `npm ci && npm test`, on a Debian that has nothing but
// Node.js and npm (scripts/minimal-root.ts).
import { spawnSync } from 'node:child_process'
import { MinimalRoot, minimalRootNeeds } from './minimal-root.ts'

const needed = minimalRootNeeds()
if (needed === undefined) process.exitCode = testIn(MinimalRoot.create())
else {
  console.error(`test:minimal: NOT TESTED HERE: the tests on a plain Debian, which need ${needed}`)
  process.exitCode = 1
}

/** @returns the exit code */
function testIn(root: MinimalRoot): number {
  try {
    root.copySources('/plantstore')
    const [command = '', ...args] = root.command('/plantstore', 'npm ci && npm test')
    return spawnSync(command, args, { stdio: 'inherit' }).status ?? 1
  } finally {
    root.remove()
  }
}
