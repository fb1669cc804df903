import type { Histogram } from '../../base/histogram.ts'

type Series = readonly [labels: Readonly<Record<string, string | number>>, histogram: Histogram]

/**
 * Writes a histogram in the text format (https://prometheus.io/docs/instrumenting/exposition_formats/).
 *
 * @param unit the observed values are divided by this
 * @param series with label values that need no escapes
 */
export function histogramText(name: string, help: string, unit: number, series: Iterable<Series>): string {
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`]
  for (const [labels, histogram] of series) {
    const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
    let count = 0
    for (const [i, values] of histogram.counts.entries()) {
      count += values
      const bound = histogram.bounds[i]
      const le = `le="${bound === undefined ? '+Inf' : bound / unit}"`
      lines.push(`${name}_bucket{${[le, ...pairs].join()}} ${count}`)
    }
    lines.push(`${name}_sum{${pairs.join()}} ${histogram.sum / unit}`, `${name}_count{${pairs.join()}} ${count}`)
  }
  return `${lines.join('\n')}\n`
}
