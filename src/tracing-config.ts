import { integer, oneOf } from './setting.ts'

/**
 * The settings of traces, from the standard variables of OpenTelemetry
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
 */
export interface TracingConfig {
  /** The URL to which the service posts OTLP in JSON. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds that the collector may take to answer. */
  readonly timeout: number
  /** The attributes of the service, `service.name` among them. */
  readonly resource: Readonly<Record<string, string>>
  /** The share of requests to trace, from 0 to 1; of those without a `traceparent` if `followsParent`. */
  readonly ratio: number
  /** Whether the sampled flag of a `traceparent` decides about its request. */
  readonly followsParent: boolean
  /** Spans that may wait for the collector; the service drops further ones. */
  readonly queue: number
  /** Spans in one request to the collector. */
  readonly batch: number
  /** Milliseconds that a span waits for the rest of its batch. */
  readonly delay: number
}

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT'
const TRACES = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'

/**
 * @param faults gets a message for each invalid variable, which shows no secret
 * @returns undefined when no variable names a collector: the service then makes no traces
 */
export function readTracing(environment: NodeJS.ProcessEnv, faults: string[]): TracingConfig | undefined {
  const isOff = environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true'
  if (isOff || environment['OTEL_TRACES_EXPORTER'] === 'none') return undefined
  const name = environment[TRACES] ? TRACES : ENDPOINT
  const given = environment[name]
  if (given === undefined || given === '') return undefined
  const read = <T>(name: string, fallback: string, parse: (text: string) => T): T | undefined => {
    try {
      return parse(environment[name] || fallback)
    } catch (error) {
      faults.push(`${name}: ${(error as Error).message}`)
      return undefined
    }
  }
  /** The variable for traces takes precedence over the variable for all signals. */
  const ofTraces = <T>(end: string, fallback: string, parse: (text: string) => T): T | undefined => {
    const own = `OTEL_EXPORTER_OTLP_TRACES_${end}`
    return read(environment[own] ? own : `OTEL_EXPORTER_OTLP_${end}`, fallback, parse)
  }
  const exporter = read('OTEL_TRACES_EXPORTER', 'otlp', oneOf('otlp'))
  const protocol = ofTraces('PROTOCOL', 'http/json', oneOf('http/json'))
  const endpoint = read(name, given, (text) => endpointOf(text, name === ENDPOINT))
  const headers = ofTraces('HEADERS', '', pairs)
  const timeout = ofTraces('TIMEOUT', '10000', count)
  const attributes = read('OTEL_RESOURCE_ATTRIBUTES', '', pairs)
  const sampler = read('OTEL_TRACES_SAMPLER', 'parentbased_always_on', oneOf(...SAMPLERS))
  const ratio = sampler?.endsWith('traceidratio') === true ? read('OTEL_TRACES_SAMPLER_ARG', '1', share) : 1
  const queue = read('OTEL_BSP_MAX_QUEUE_SIZE', '2048', count)
  const batch = read('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '512', count)
  const delay = read('OTEL_BSP_SCHEDULE_DELAY', '5000', count)
  const all = [exporter, protocol, endpoint, headers, timeout, attributes, sampler, ratio, queue, batch, delay]
  if (all.includes(undefined)) return undefined
  return {
    endpoint: endpoint ?? '',
    headers: headers ?? {},
    timeout: timeout ?? 0,
    resource: { 'service.name': 'plantstore', ...attributes, ...nameIn(environment) },
    ratio: sampler?.endsWith('always_off') === true ? 0 : (ratio ?? 1),
    followsParent: sampler?.startsWith('parentbased') === true,
    queue: queue ?? 0,
    batch: batch ?? 0,
    delay: delay ?? 0,
  }
}

const count = integer(1, 999_999)

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

function nameIn({ OTEL_SERVICE_NAME: name }: NodeJS.ProcessEnv): Record<string, string> {
  return name ? { 'service.name': name } : {}
}

/** The message does not show the address, which may hold a password. */
function endpointOf(text: string, isBase: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new Error('is not an address like http://127.0.0.1:4318, without a user')
  }
  if (isBase) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url.href
}

/** Parses `key=value,key=value` with percent-encoded values. The message shows no value, which may be a secret. */
function pairs(text: string): Record<string, string> {
  const given = text.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    given.map((pair) => {
      const [, key, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z/-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
      const decoded = value === undefined ? undefined : decodedOrNone(value)
      if (key === undefined || decoded === undefined) throw new Error('is not a list like key=value,key2=value2')
      return [key, decoded]
    }),
  )
}

function decodedOrNone(value: string): string | undefined {
  try {
    const decoded = decodeURIComponent(value)
    return /^[^\p{Cc}]*$/u.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}

function share(text: string): number {
  const parsed = Number(text)
  if (!/^\d*\.?\d+$/.test(text) || parsed > 1) throw new Error(`"${text}" is not a number from 0 to 1`)
  return parsed
}
