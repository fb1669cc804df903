import type { MetricName } from '../src/http/metrics/catalog.ts'

/** A metric of the service, or one of every Node.js process. */
type Name = MetricName | `${'nodejs' | 'process'}_${string}`

interface Query {
  readonly expression: string
  readonly legend: string
}

interface Panel {
  readonly title: string
  /** A unit of Grafana. */
  readonly unit: string
  readonly queries: readonly Query[]
}

const SELECTOR = 'job=~"$job",instance=~"$instance"'
const of = (name: Name, labels = ''): string => `${name}{${SELECTOR}${labels}}`
const rate = (name: Name, labels = ''): string => `rate(${of(name, labels)}[$__rate_interval])`
const sum = (by: string, expression: string): string => `sum by (${by}) (${expression})`
const quantile = (q: number, name: MetricName, by: string): string =>
  `histogram_quantile(${q}, sum by (le,${by}) (rate(${name}_bucket{${SELECTOR}}[$__rate_interval])))`
const query = (expression: string, legend: string): Query => ({ expression, legend })
const one = (title: string, unit: string, expression: string, legend: string): Panel => ({
  title,
  unit,
  queries: [query(expression, legend)],
})

const PANELS: readonly Panel[] = [
  one('Requests by operation', 'reqps', sum('operation', rate('plantstore_http_requests_total')), '{{operation}}'),
  one('Requests by status', 'reqps', sum('status', rate('plantstore_http_requests_total')), '{{status}}'),
  one('Refusals by error', 'reqps', sum('error', rate('plantstore_refusals_total')), '{{error}}'),
  one('p99 by operation', 's', quantile(0.99, 'plantstore_http_request_seconds', 'operation'), '{{operation}}'),
  one('p50 by operation', 's', quantile(0.5, 'plantstore_http_request_seconds', 'operation'), '{{operation}}'),
  one('p99 of commits', 's', quantile(0.99, 'plantstore_commit_seconds', 'work'), '{{work}}'),
  {
    title: 'Writes in one commit',
    unit: 'short',
    queries: [
      query(
        `${sum('work', rateOf('plantstore_commit_rows', 'sum'))} / ${sum('work', rateOf('plantstore_commit_rows', 'count'))}`,
        '{{work}}',
      ),
    ],
  },
  one('Failed commits', 'short', sum('work', rate('plantstore_commit_failures_total')), '{{work}}'),
  one('Queued creates and changes', 'short', of('plantstore_creates_waiting'), '{{instance}}'),
  one('Bounds in use', 'percentunit', `${of('plantstore_bound_used')} / ${of('plantstore_bound_limit')}`, '{{bound}}'),
  one(
    'Refused under overload',
    'reqps',
    sum('instance', rate('plantstore_refusals_total', ',error="50302"')),
    '{{instance}}',
  ),
  {
    title: 'Event loop',
    unit: 's',
    queries: [
      query(of('nodejs_eventloop_lag_p99_seconds'), 'p99 of the delay'),
      query(of('nodejs_eventloop_lag_max_seconds'), 'longest delay'),
    ],
  },
  {
    title: 'Memory',
    unit: 'bytes',
    queries: [
      query(of('process_resident_memory_bytes'), 'resident'),
      query(of('nodejs_heap_size_used_bytes'), 'heap in use'),
      query(of('nodejs_external_memory_bytes'), 'outside the heap'),
    ],
  },
  one('Processor', 'percentunit', rate('process_cpu_seconds_total'), '{{instance}}'),
  one('Deliveries to webhooks', 'ops', sum('outcome', rate('plantstore_webhook_attempts_total')), '{{outcome}}'),
  one('Events that wait for webhooks', 'short', of('plantstore_webhook_pending'), '{{webhook}}'),
  one('Oldest event that waits for a webhook', 's', of('plantstore_webhook_oldest_seconds'), '{{webhook}}'),
  one('Webhooks by state', 'short', of('plantstore_webhooks'), '{{state}}'),
  {
    title: 'Connections and files',
    unit: 'short',
    queries: [
      query(of('plantstore_bound_used', ',bound="max-connections"'), 'connections of clients'),
      query(of('process_open_fds'), 'open files'),
    ],
  },
  one('Plants', 'short', of('plantstore_plants'), '{{instance}}'),
  {
    title: 'Store (SQLite)',
    unit: 'bytes',
    queries: [query(of('plantstore_store_bytes'), 'store'), query(of('plantstore_store_log_bytes'), 'log')],
  },
  one('Search index behind (SQLite)', 'short', of('plantstore_search_index_behind'), '{{instance}}'),
  one('Connections to PostgreSQL', 'short', of('plantstore_store_connections'), '{{work}}'),
  one(
    'Long work in progress',
    'short',
    of('plantstore_bound_used', ',bound=~"max-(?:searches|exports|imports|dry-runs|patches)"'),
    '{{bound}}',
  ),
  one('Age of the newest backup', 's', `time() - ${of('plantstore_backup_newest_timestamp_seconds')}`, '{{instance}}'),
]

function rateOf(name: MetricName, part: 'sum' | 'count'): string {
  return `rate(${name}_${part}{${SELECTOR}}[$__rate_interval])`
}

const DATASOURCE = { type: 'prometheus', uid: '$datasource' }
/** Panels in a row of Grafana's 24 columns. */
const COLUMNS = 3
const WIDTH = 24 / COLUMNS
const HEIGHT = 7

const variable = (name: string, label: string, expression: string): object => ({
  name,
  label,
  type: 'query',
  datasource: DATASOURCE,
  query: { query: expression, refId: name },
  definition: expression,
  refresh: 2,
  includeAll: true,
  multi: true,
  current: { text: 'All', value: '$__all' },
})

/** A dashboard to import into Grafana 9 or newer. */
export function dashboard(): string {
  const info: MetricName = 'plantstore_build_info'
  const content = {
    title: 'Plantstore',
    uid: 'plantstore',
    tags: ['plantstore'],
    schemaVersion: 37,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        variable('job', 'Job', `label_values(${info}, job)`),
        variable('instance', 'Instance', `label_values(${info}{job=~"$job"}, instance)`),
      ],
    },
    panels: PANELS.map(panel),
  }
  return `${JSON.stringify(content, null, 2)}\n`
}

function panel({ title, unit, queries }: Panel, index: number): object {
  return {
    id: index + 1,
    title,
    type: 'timeseries',
    datasource: DATASOURCE,
    gridPos: { x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expression, legend }, i) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + i),
      datasource: DATASOURCE,
      expr: expression,
      legendFormat: legend,
    })),
  }
}
