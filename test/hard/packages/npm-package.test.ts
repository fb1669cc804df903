import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { bundledPackages } from '../../../scripts/package/dependencies.ts'
import { npmPackage } from '../../../scripts/package/npm-package.ts'
import { filesOf } from '../../../scripts/repository.ts'
import { tempFolder } from '../../support/files.ts'
import { pretend } from '../../support/process.ts'
import { callsService, createsPlant, faultsOfTypes, linesFor } from './support.ts'

test('the npm package runs once installed, without network, TypeScript or a Node.js of its own', async (t) => {
  const folder = tempFolder(t)
  const project = join(folder, 'project')
  // Without it, npm installs into a parent folder that has one.
  mkdirSync(join(project, 'node_modules'), { recursive: true })
  npmPackage(project)
  await t.test('the lines of the guide install and start the program, which creates a plant', async (t) => {
    // An empty cache, so that npm takes nothing from it.
    const env = { npm_config_offline: 'true', npm_config_cache: join(folder, 'cache'), npm_config_audit: 'false' }
    const whileServing = (address: string) =>
      callsService(join(project, 'node_modules/.bin/plantstore'), project, address)
    await createsPlant(t, ['sh', '-e', '-c', linesFor('npm install')], project, { env, whileServing })
  })
  const installed = join(project, 'node_modules/plantstore')
  const files = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(installed.length + 1)
        .replaceAll('\\', '/'),
    )

  await t.test('it contains only modules as JavaScript with types, and files that the program reads', () => {
    const modules = filesOf('{client/src,src}/**/*.ts').map((path) => path.slice(0, -'.ts'.length))
    const own = files.filter((path) => !path.startsWith('node_modules/'))
    assert.deepEqual(
      own.sort(),
      [
        ...modules.flatMap((path) => [`${path}.js`, `${path}.d.ts`]),
        ...filesOf(
          'monitoring/*',
          'sql/**/*.sql',
          'web/dist/*',
          'web/dist-docs/*',
          'src/http/request/contract.generated.json',
        ),
        'bin/plantstore.js',
        'share/bash-completion/completions/plantstore',
        'share/fish/vendor_completions.d/plantstore.fish',
        'share/man/man1/plantstore.1',
        'share/zsh/site-functions/_plantstore',
        'package.json',
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
      ].sort(),
    )
    const modulesThere = own.filter((path) => /\.(?:js|d\.ts)$/.test(path))
    const sources = modulesThere.filter((path) =>
      /['"]\.{1,2}\/[^'"\n]*\.ts['"]/.test(readFileSync(join(installed, path), 'utf8')),
    )
    assert.deepEqual(sources, [], 'files that name TypeScript')
  })

  await t.test('it depends on exactly the packages that it imports', () => {
    const packages = files.filter((path) => /^node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    assert.deepEqual(packages.map((path) => dirname(path)).sort(), bundledPackages())
    assert.ok(!bundledPackages().some((path) => /\bnode-(?:bin|linux|darwin|win)\b/.test(path)))
    assert.deepEqual(globSync('node_modules/**/*.{ts,mts,cts,node}', { cwd: installed }), [])
    assert.deepEqual(readdirSync(join(project, 'node_modules')).sort(), ['.bin', '.package-lock.json', 'plantstore'])
  })

  await t.test('on an older Node.js it says in one line which version it needs', () => {
    const bin = join(installed, 'bin/plantstore.js')
    const old = spawnSync(process.execPath, [...pretend({ node: '24.14.1' }), bin, 'serve'], { encoding: 'utf8' })
    assert.match(
      old.stderr,
      /^plantstore needs Node\.js 24\.15 or newer [^\n]*; this is Node\.js 24\.14\.1 [^\n]*\d\.\n$/,
    )
    assert.deepEqual([old.status, old.stdout], [2, ''])
  })

  await t.test('its types accept correct calls and refuse wrong ones', () => {
    writeFileSync(
      join(project, 'use.ts'),
      "import { main } from 'plantstore'\nexport const a: Promise<void> = main(['a'])\nmain(7)\n",
    )
    assert.match(faultsOfTypes(project, 'use.ts'), /^use\.ts\(3,6\): error TS2345: [^\n]*\n$/)
  })
})
