import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readConfig } from '../src/config.ts'
import { readTracing } from '../src/tracing-config.ts'

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT'
const COLLECTOR = 'http://127.0.0.1:4318'

function reads(environment: Record<string, string>) {
  const faults: string[] = []
  return { tracing: readTracing(environment, faults), faults }
}

suite('the variables of OpenTelemetry', () => {
  test('turn traces on if and only if they name a collector', () => {
    for (const environment of [
      {},
      { [ENDPOINT]: '' },
      { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_EXPORTER: 'otlp' },
      { [ENDPOINT]: COLLECTOR, OTEL_SDK_DISABLED: 'true' },
      { [ENDPOINT]: COLLECTOR, OTEL_TRACES_EXPORTER: 'none' },
      { [ENDPOINT]: 'nonsense', OTEL_SDK_DISABLED: 'TRUE' },
    ]) {
      assert.deepEqual(reads(environment), { tracing: undefined, faults: [] })
    }
    assert.deepEqual(reads({ [ENDPOINT]: COLLECTOR }), {
      tracing: {
        endpoint: `${COLLECTOR}/v1/traces`,
        headers: {},
        timeout: 10_000,
        resource: { 'service.name': 'plantstore' },
        ratio: 1,
        followsParent: true,
        queue: 2048,
        batch: 512,
        delay: 5000,
      },
      faults: [],
    })
  })

  test('set the address of the collector, the sampling rate and the name of the service', () => {
    const { tracing } = reads({
      [ENDPOINT]: 'https://all.example/base/',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b%3D, x-two = 2 ,',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,service.name=other',
      OTEL_SERVICE_NAME: 'plants',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '.25',
    })
    assert.equal(tracing?.endpoint, 'https://all.example/base/v1/traces')
    assert.deepEqual(tracing.headers, { 'api-key': 'a b=', 'x-two': '2' })
    assert.deepEqual(tracing.resource, { 'service.name': 'plants', 'deployment.environment': 'test' })
    assert.deepEqual([tracing.ratio, tracing.followsParent], [0.25, false])
    const traces = reads({
      [ENDPOINT]: 'nonsense',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t.example/in',
      OTEL_EXPORTER_OTLP_TIMEOUT: '5',
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '7',
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    })
    assert.deepEqual(
      [traces.tracing?.endpoint, traces.tracing?.timeout, traces.tracing?.ratio, traces.tracing?.followsParent],
      ['http://t.example/in', 7, 0, true],
    )
  })

  test('are refused by their names if they are wrong, and the refusal shows no secret', () => {
    const wrong: Readonly<Record<string, readonly string[]>> = {
      [ENDPOINT]: ['nonsense', 'ftp://a', '127.0.0.1:4318', 'http://user:s3cret@a'],
      OTEL_EXPORTER_OTLP_HEADERS: ['s3cret', '=s3cret', 'a=%s3cret', 'a=%0as3cret', 'a b=s3cret'],
      OTEL_EXPORTER_OTLP_TIMEOUT: ['0', '-1', '1.5', 'long', '1000000'],
      OTEL_EXPORTER_OTLP_PROTOCOL: ['grpc', 'http/protobuf'],
      OTEL_TRACES_EXPORTER: ['console', 'zipkin'],
      OTEL_TRACES_SAMPLER: ['jaeger_remote', 'ALWAYS_ON'],
      OTEL_RESOURCE_ATTRIBUTES: ['a', 'a=%'],
      OTEL_BSP_MAX_QUEUE_SIZE: ['0', 'many'],
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: ['0', 'many'],
      OTEL_BSP_SCHEDULE_DELAY: ['0', 'many'],
    }
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const { tracing, faults } = reads({ [ENDPOINT]: COLLECTOR, ...Object.fromEntries([[name, value]]) })
        assert.equal(tracing, undefined, `${name}=${value}`)
        assert.equal(faults.length, 1, `${name}=${value}`)
        const [fault = ''] = faults
        assert.ok(fault.startsWith(`${name}: `) && !fault.includes('s3cret'), fault)
      }
    }
    for (const argument of ['2', '-1', 'half', '.']) {
      const environment = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: argument }
      assert.equal(reads({ [ENDPOINT]: COLLECTOR, ...environment }).faults.length, 1, argument)
    }
  })

  test('are refused together with all other faults of a configuration, and only by serve', () => {
    const environment = { [ENDPOINT]: 'nonsense', PLANTSTORE_PORT: 'x' }
    assert.throws(() => readConfig({}, environment), /^OperatorError: PLANTSTORE_PORT: [^\n]+\nOTEL_EXPORTER_OTLP_E/)
    assert.doesNotThrow(() => readConfig({}, { [ENDPOINT]: 'nonsense' }, 'client'))
  })
})
