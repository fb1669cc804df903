// `npm run test:minimal [-- SYSTEM]`: runs the two commands of the README, `npm ci && npm start` and `npm ci && npm test`,
// and the other tests on a Debian or on the named system, which has nothing but Node.js and npm
// (scripts/minimal-root.ts).
import { spawnSync } from 'node:child_process'
import { MinimalRoot, minimalRootNeeds, SYSTEMS, type SystemName } from './minimal-root.ts'

/**
 * Ends the service that `npm start` serves once it is ready, and fails if that takes more than a minute. The signal goes to
 * the group: npm passes it to a shell, which does not pass it on.
 */
const START = `setsid npm start & service=$!
node -e '
  const isReady = () => fetch("http://127.0.0.1:8080/health/ready").then(({ ok }) => ok, () => false)
  const ask = async (left) => {
    if (await isReady()) console.log("npm start serves the store")
    else if (left > 0) setTimeout(ask, 500, left - 1)
    else process.exitCode = 1
  }
  ask(120)
' || isReady=no
kill -- -$service
wait
test -z "$isReady"`

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
      `npm ci\n${START}\nnpm test && npm run test:page && npm run test:hard`,
    )
    return spawnSync(command, args, { stdio: 'inherit' }).status ?? 1
  } finally {
    root.remove()
  }
}
