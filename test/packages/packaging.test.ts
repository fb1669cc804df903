import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { filesOf, ROOT } from '../../scripts/repository.ts'
import { isSetting } from '../../src/unknown-variables.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly read_only?: boolean
        readonly cap_drop?: readonly string[]
        readonly security_opt?: readonly string[]
        readonly ports?: readonly string[]
        readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
        readonly healthcheck?: object
      }
    >
  >
}

test('what is packaged names only settings that there are', () => {
  const files = filesOf('packaging/{docker,systemd,npm}/**/*', 'docs/guides/installing.md')
  const named = files.flatMap((path) => [...read(path).matchAll(/PLANTSTORE_[A-Z_]+/g)].map(([name]) => name))
  assert.ok(named.length > 5)
  assert.deepEqual(
    named.filter((name) => !isSetting(name)),
    [],
  )
})

test('the image has the Node.js that the lock file pins', () => {
  const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: Record<string, string> }
  const stages = [...read('packaging/docker/Dockerfile').matchAll(/^FROM node:(\d+\.\d+\.\d+)-/gm)].map(
    ([, version]) => version,
  )
  assert.deepEqual(new Set(stages), new Set(Object.values(optionalDependencies)))
})

test('the service of the compose file has a read-only root and no capabilities, and waits for its database', () => {
  const { services } = parse(read('packaging/docker/compose.yaml')) as Compose
  const { plantstore, database } = services
  assert.deepEqual(
    [plantstore?.read_only, plantstore?.cap_drop, plantstore?.security_opt],
    [true, ['ALL'], ['no-new-privileges:true']],
  )
  assert.equal(plantstore?.depends_on?.['database']?.condition, 'service_healthy')
  assert.ok(database?.healthcheck !== undefined)
  assert.deepEqual([database?.ports, plantstore?.ports], [undefined, ['127.0.0.1:8080:8080']])
})
