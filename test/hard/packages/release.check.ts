import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { ROOT } from '../../../scripts/repository.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { tempFolder } from '../../support/files.ts'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
const DIST = join(ROOT, 'dist')

function release(args: readonly string[], env: Readonly<Record<string, string>> = {}, root = ROOT) {
  const options = { cwd: root, encoding: 'utf8', env: { ...process.env, GITHUB_REF_TYPE: '', ...env } } as const
  return spawnSync(process.execPath, ['scripts/release.ts', ...args], options)
}

suite('npm run release', () => {
  test('makes with --dry-run all files of a release, with their sums and bills of materials', (t) => {
    rmSync(DIST, { recursive: true, force: true })
    cleanUp(t, () => rmSync(DIST, { recursive: true, force: true }))
    const { status, stdout, stderr } = release(['--dry-run'])
    assert.equal(status, 0, stderr)
    assert.match(stdout, new RegExp(`^not done: gh release create v${version} `, 'm'))
    const sums = readFileSync(join(DIST, 'SHA256SUMS'), 'utf8')
    const names = sums
      .trim()
      .split('\n')
      .map((line) => line.slice(66))
    const system = `${process.platform}-${process.arch}${process.platform === 'win32' ? '.exe' : ''}`
    const made = [`plantstore-${version}-${system}`, `plantstore-${version}.tgz`, `plantstore-client-${version}.tgz`]
    const bills = [`plantstore-${version}.cdx.json`, `plantstore-client-${version}.cdx.json`]
    const archive = process.platform === 'linux' ? [`plantstore-${version}-${system}.tar.gz`] : []
    assert.deepEqual(names.toSorted(), [...made, ...bills, ...archive].toSorted())
    if (process.platform === 'linux') execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: DIST })
    const bill = JSON.parse(readFileSync(join(DIST, bills[0] ?? ''), 'utf8')) as Bill
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
    const contained = new Map(bill.components.map((each) => [each.name, each.version]))
    for (const [name, wanted] of Object.entries(dependencies)) assert.equal(contained.get(name), wanted, name)
    assert.equal(contained.get('node'), process.versions.node)
    assert.equal(contained.get('typescript'), undefined, 'what only developers need')
  })

  test('refuses to upload without a tag, with the tag of another version, and with different versions', (t) => {
    const refused = (said: RegExp, ...given: Parameters<typeof release>) => {
      const { status, stderr } = release(...given)
      assert.equal(status, 1)
      assert.match(stderr, said)
    }
    refused(/only a workflow of a tag uploads/, [])
    refused(/the tag is v0\.0\.1 in place of v/, ['--dry-run'], { GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: 'v0.0.1' })
    const root = tempFolder(t)
    for (const name of ['scripts', 'package.json', 'client/package.json', 'CHANGELOG.md']) {
      cpSync(join(ROOT, name), join(root, name), { recursive: true })
    }
    cpSync(join(ROOT, 'node_modules/esbuild'), join(root, 'node_modules/esbuild'), { recursive: true })
    writeFileSync(join(root, 'client/package.json'), '{"version":"0.0.1"}')
    writeFileSync(join(root, 'CHANGELOG.md'), `## ${version} - unreleased\n`)
    refused(/client\/package\.json has 0\.0\.1/, ['--dry-run'], {}, root)
    refused(/CHANGELOG\.md begins with ".* - unreleased"/, ['--dry-run'], {}, root)
  })
})

interface Bill {
  readonly components: readonly { readonly name: string; readonly version: string }[]
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
}
