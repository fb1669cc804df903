// `npm run test:citus`: runs the tests of the store and the service on Citus, on a running cluster or on one that it
// starts from a build.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CITUS_BUILD_VARIABLE, CITUS_VARIABLE, CitusCluster } from '../test/support/citus.ts'

/** Tests that also hold on a distributed store. */
const SHARED = [
  'postgres-store',
  'postgres-lists',
  'postgres-files',
  'hard/postgres-model',
  'hard/postgres-http',
  'hard/postgres-instances',
].map((name) => `test/${name}.test.ts`)

const { values } = parseArgs({ options: { build: { type: 'string' } } })
const named = process.env[CITUS_VARIABLE] ?? ''
if (named === '' && values.build === undefined) {
  console.error(`Give a build, as --build FOLDER with FOLDER/bin/postgres, or an address in ${CITUS_VARIABLE}.`)
  process.exit(2)
}
const cluster = values.build === undefined ? undefined : await CitusCluster.create(values.build)
try {
  // Tests that stop a worker run only on a cluster that this script started.
  const own = globSync('test/citus/*.citus.ts').filter(
    (file) => values.build !== undefined || !file.includes('-worker'),
  )
  const env = {
    ...process.env,
    [CITUS_VARIABLE]: cluster?.url() ?? named,
    ...(values.build === undefined ? {} : { [CITUS_BUILD_VARIABLE]: values.build }),
  }
  const args = ['--test', '--test-concurrency=1', '--test-timeout=600000', ...SHARED, ...own.sort()]
  const [code] = (await once(spawn(process.execPath, args, { stdio: 'inherit', env }), 'exit')) as [number | null]
  process.exitCode = code ?? 1
} finally {
  await cluster?.close()
}
