import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { filesOf, ROOT } from '../../../scripts/repository.ts'
import { tempFolder } from '../../support/files.ts'
import { notTestedHere, runs } from '../../support/not-tested.ts'

const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0'
/** The API that the schemas are made of. Every kind in the manifests is stable since an earlier one. */
const KUBERNETES = 'k8s.io/kubernetes@v1.34.0'
const OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0'

interface Schema {
  type?: unknown
  format?: unknown
  oneOf?: unknown
  properties?: Record<string, Schema>
  additionalProperties?: unknown
  items?: Schema
  [other: string]: unknown
}

/** The folder of a Go module, which the module proxy brings. */
const moduleFolder = (module: string): string =>
  (JSON.parse(execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' })) as { Dir: string }).Dir

/** Refuses members that the API does not have: a misspelt one would be ignored, and its default hold. */
function strict(schema: Schema): Schema {
  if (schema.format === 'int-or-string') return { oneOf: [{ type: 'string' }, { type: 'integer' }] }
  const { properties, items } = schema
  if (properties === undefined) return items === undefined ? schema : { ...schema, items: strict(items) }
  const each = Object.entries(properties).map(([name, value]) => [name, strict(value)] as const)
  return { ...schema, properties: Object.fromEntries(each), additionalProperties: false }
}

/** Writes a schema for each kind into the folder, as `<Kind>-<group>-<version>.json`. */
function writeSchemas(folder: string): void {
  const swagger = readFileSync(join(moduleFolder(KUBERNETES), 'api/openapi-spec/swagger.json'), 'utf8')
  const { definitions } = JSON.parse(swagger) as { definitions: Record<string, Schema> }
  const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
  const all = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, strict(schema)]))
  all[quantity] = { oneOf: [{ type: 'string' }, { type: 'number' }] }
  writeFileSync(join(folder, 'definitions.json'), JSON.stringify({ definitions: all }))
  for (const [name, { 'x-kubernetes-group-version-kind': kinds }] of Object.entries(definitions)) {
    for (const { group, version, kind } of (kinds ?? []) as { group: string; version: string; kind: string }[]) {
      const file = [kind, ...(group === '' ? [] : [group.split('.')[0]]), version].join('-').toLowerCase()
      const root = { $ref: `definitions.json#/definitions/${name}` }
      writeFileSync(join(folder, `${file}.json`), JSON.stringify(root))
    }
  }
  const crd = 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml'
  const { spec } = parse(readFileSync(join(moduleFolder(OPERATOR), crd), 'utf8')) as {
    spec: { versions: [{ schema: { openAPIV3Schema: Schema } }] }
  }
  const monitor = strict(spec.versions[0].schema.openAPIV3Schema)
  writeFileSync(
    join(folder, 'servicemonitor-monitoring-v1.json'),
    JSON.stringify({ ...monitor, properties: { ...monitor.properties, metadata: { type: 'object' } } }),
  )
}

test('the manifests fit the API of Kubernetes, and a misspelt member does not', (t) => {
  if (!runs('go', 'version')) return notTestedHere(t, 'the manifests by the schemas of Kubernetes, which needs Go')
  const folder = tempFolder(t)
  writeSchemas(folder)
  const location = `${folder}/{{ .ResourceKind }}{{ .KindSuffix }}.json`
  const validate = (...files: readonly string[]) =>
    spawnSync('go', ['run', KUBECONFORM, '-strict', '-summary', '-schema-location', location, ...files], {
      encoding: 'utf8',
      cwd: folder,
    })
  const files = filesOf('packaging/kubernetes/*.yaml').map((file) => join(ROOT, file))
  assert.ok(files.length > 3)
  const { status, stdout, stderr } = validate(...files)
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /Valid: 8, Invalid: 0, Errors: 0, Skipped: 0/)
  for (const [right, wrong] of [
    ['enableServiceLinks', 'enableServicelinks'],
    ['replicas: 3', 'replicas: three'],
    ['maxUnavailable: 1', 'maxUnavailabel: 1'],
  ] as const) {
    const file = join(folder, 'wrong.yaml')
    const text = readFileSync(join(ROOT, 'packaging/kubernetes/postgres.yaml'), 'utf8')
    assert.ok(text.includes(right))
    writeFileSync(file, text.replace(right, wrong))
    assert.equal(validate(file).status, 1, wrong)
  }
})
