import type { Agent } from 'node:http'
import { send } from './load.ts'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Parses the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/), or throws. */
export class Scrape {
  readonly text: string
  readonly types = new Map<string, string>()
  readonly samples: Sample[] = []

  constructor(text: string) {
    this.text = text
    for (const line of text.split('\n')) {
      const [, type, kind] = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(line) ?? []
      if (type !== undefined && kind !== undefined) {
        if (this.types.has(type)) throw new Error(`${type} comes twice`)
        this.types.set(type, kind)
      } else if (line !== '' && !line.startsWith('# HELP ')) this.samples.push(sampleOf(line))
    }
  }

  /** The names of all samples. */
  get names(): Set<string> {
    return new Set(this.samples.map(({ name }) => name))
  }

  /** The value of the sample with these labels; undefined if there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const isMeant = (sample: Sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
    return this.samples.find(isMeant)?.value
  }
}

/** The metrics of a service with the configured token. */
export const scrapeAt = async (address: string, agent?: Agent): Promise<Scrape> =>
  new Scrape((await send('GET', `${address}/metrics`, agent === undefined ? {} : { agent })).body)

/** The use, the limit or the refusals of a bound in a text of metrics. */
export const boundIn = (text: string, bound: string, what: 'used' | 'limit' | 'refused_total' = 'used'): number =>
  new Scrape(text).value(`plantstore_bound_${what}`, { bound }) ?? Number.NaN

function sampleOf(line: string): Sample {
  const [, name, labels = '', value] = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? []
  if (name === undefined || value === undefined) throw new Error(`this is no sample: ${line}`)
  const pairs = [...labels.matchAll(/(\w+)="([^"\\]*)"/g)].map(([, label = '', text = '']) => [label, text])
  return { name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value) }
}
