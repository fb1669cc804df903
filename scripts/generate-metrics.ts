import { BOUNDS, type BoundName, METRICS, type MetricInfo } from '../src/http/metrics/catalog.ts'
import { SETTINGS } from '../src/settings/config.ts'
import type { Setting } from '../src/settings/setting.ts'
import { table } from './markdown.ts'

const INTRODUCTION = `# Metrics

\`GET /metrics\` answers in the text format of Prometheus. On the port for clients it needs a token with \`plants:read\`.
With \`--metrics-port\` it has a port of its own, together with \`/health/live\` and \`/health/ready\`. That port needs no
token and takes 32 connections; the port for clients then answers \`/metrics\` with 40401.
[Monitoring](../guides/monitoring.md) shows how to scrape it, and has alert rules and a dashboard.

A scrape only reads counters, and takes a few milliseconds. Concurrent scrapes share one text. Values of labels come
from the program, never from a client, so the number of series is bounded: two hundred in an idle service, and at most
about 1,500 once every operation has had every status.

Names and labels change only with a line in the [changelog](../../CHANGELOG.md).
`

const BOUNDS_TEXT = `
## Bounds

\`plantstore_bound_used\` and \`plantstore_bound_limit\` have one series for each bound that all clients share. Their quotient
shows how near the service is to the bound. \`plantstore_bound_refused_total\` counts what those bounds refused of which
the service counts that by itself. [Limits](limits.md) says how the service treats the excess of each.
`

const NODE_TEXT = `
## Node.js

The service has the metrics of the Prometheus client for every Node.js process: \`process_cpu_seconds_total\`,
\`process_resident_memory_bytes\`, \`process_open_fds\` and \`process_max_fds\` (Linux), \`process_start_time_seconds\`,
\`nodejs_eventloop_lag_seconds\` with its quantiles such as \`nodejs_eventloop_lag_p99_seconds\`,
\`nodejs_heap_size_used_bytes\`, \`nodejs_external_memory_bytes\` and \`nodejs_gc_duration_seconds\`, among others.
`

/** The page of all metrics and bounds of src/http/metrics/catalog.ts. */
export function metricsPage(): string {
  const metrics = table([['metric', 'type', 'labels', 'only with', 'meaning'], ...Object.entries(METRICS).map(cells)])
  const bounds = table([['bound', 'what is counted'], ...Object.entries(BOUNDS).map(boundCells)])
  return `${INTRODUCTION}\n## The service\n\n${metrics}${BOUNDS_TEXT}\n${bounds}${NODE_TEXT}`
}

function cells([name, { type, help, labels = {}, only = '' }]: [string, MetricInfo]): string[] {
  const described = Object.entries(labels).map(([label, values]) => `\`${label}\`: ${values}`)
  return [`\`${name}\``, type, described.join('; '), only, help]
}

function boundCells([name, counted]: [string, string]): string[] {
  return [`\`${flagOf(name as BoundName) ?? hyphenated(name)}\``, counted]
}

function flagOf(name: BoundName): string | undefined {
  const settings: Readonly<Record<string, Setting<unknown>>> = SETTINGS
  return settings[name]?.flag
}

/** The label of a bound without a setting. */
const hyphenated = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
