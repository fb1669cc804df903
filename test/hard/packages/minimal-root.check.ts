import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MinimalRoot, minimalRootNeeds, SYSTEMS, type SystemName } from '../../../scripts/minimal-root.ts'
import { executable } from '../../../scripts/package/executable.ts'
import { npmPackage } from '../../../scripts/package/npm-package.ts'
import { tarball } from '../../../scripts/package/tarball.ts'
import { ROOT } from '../../../scripts/repository.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { tempFolder } from '../../support/files.ts'
import { blocksOf } from '../../support/guide.ts'
import { notTestedHere } from '../../support/not-tested.ts'
import { TOKEN } from '../../support/process.ts'
import { createsPlant, linesFor, TELL, TELLS_FLAGS } from './support.ts'

const SETTINGS = { PLANTSTORE_PORT: '0', PLANTSTORE_TOKEN: TOKEN, PLANTSTORE_LOG_LEVEL: 'error', ...TELLS_FLAGS }

/** Both engines and the page in the browser. `npm run test:minimal` runs all tests. */
const SOME_TESTS = 'test/sqlite-lists.test.ts test/postgres-store.test.ts test/ways/edit.test.ts'

for (const name of Object.keys(SYSTEMS) as SystemName[]) {
  test(`all ways to start, and tests, work on a ${name} that has nothing but Node.js and npm`, async (t) => {
    const needed = minimalRootNeeds(name)
    if (needed !== undefined) return notTestedHere(t, `starts and tests on a plain ${name}, which need ${needed}`)
    const root = MinimalRoot.create(name)
    cleanUp(t, () => root.remove())
    await startsAndTests(t, root)
  })
}

async function startsAndTests(t: TestContext, root: MinimalRoot): Promise<void> {
  const folder = tempFolder(t)
  const starts = (t: TestContext, inside: string, script: string, more = {}) =>
    createsPlant(t, root.command(inside, script, { ...SETTINGS, ...more }), folder)
  const [first, second] = blocksOf('README.md').filter(({ language }) => language === 'sh')

  await t.test('the first command of the README', async (t) => {
    root.copySources('/plantstore')
    assert.equal(first?.text.trim(), 'npm ci && npm start')
    await starts(t, '/plantstore', first.text)
    await starts(t, '/', '/plantstore/bin/plantstore serve')
  })

  await t.test('the second command of the README, with the tests of both engines and of an editor on the page', () => {
    assert.equal(second?.text.trim(), 'npm ci && npm test')
    const [command = '', ...args] = root.command('/plantstore', `npm ci && npm test -- ${SOME_TESTS}`)
    const printed = execFileSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
    assert.match(printed, /^ℹ pass [1-9]\d\d+$/m)
    assert.match(printed, /^ℹ skipped 0$/m)
    assert.doesNotMatch(printed, /NOT TESTED HERE: .*(?:PostgreSQL|browser)/)
  })

  // All in one folder, as after a download of all files.
  const downloads = join(root.path, 'downloads')
  mkdirSync(downloads)
  npmPackage(downloads)
  await executable(downloads)
  tarball(downloads)

  await t.test('the npm package, on the Node.js that it asks for', async (t) => {
    const runtime = join(ROOT, `node_modules/node-linux-${process.arch}`)
    cpSync(runtime, join(root.path, 'opt/node'), { recursive: true })
    mkdirSync(join(root.path, 'project/node_modules'), { recursive: true })
    cpSync(npmPackage(join(root.path, 'project')), join(root.path, 'project/plantstore.tgz'))
    const script = linesFor('npm install')
    await starts(t, '/project', script, {
      PATH: '/opt/node/bin:/usr/local/bin:/usr/bin:/bin',
      npm_config_offline: 'true',
    })
  })

  await t.test('the executable file, beside the unpacked archive and without Node.js', async (t) => {
    const unpack = linesFor('tar -xzf').split('\n', 1)[0] ?? ''
    writeFileSync(join(downloads, 'tell.cjs'), TELL)
    const more = { PATH: '/usr/bin:/bin', NODE_OPTIONS: '--require=/downloads/tell.cjs' }
    await starts(t, '/downloads', `${unpack}\n${linesFor('./plantstore-')}`, more)
  })

  await t.test('the archive, without Node.js', async (t) => {
    const install = linesFor('tar -xzf').replaceAll('sudo ', '')
    const serve = '/opt/plantstore/bin/plantstore serve --config /etc/plantstore/plantstore.conf'
    await starts(
      t,
      '/downloads',
      `${install}\ncd /\nexec setpriv --reuid plantstore --regid plantstore --clear-groups ${serve}`,
      { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    )
  })
}
