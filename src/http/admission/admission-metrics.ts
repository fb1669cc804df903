import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { Admission } from './admission.ts'

/** Shows in the metrics how much long work runs and waits, and how much was refused. */
export function observeAdmission(registry: Registry, { queues }: Admission): void {
  const registers = [registry]
  const each = Object.entries(queues)
  new Gauge({
    name: 'plantstore_work_running',
    help: 'Searches, exports, imports, dry runs, patches, changes of tokens and reservations of ids in progress.',
    labelNames: ['work'],
    registers,
    collect() {
      for (const [work, queue] of each) this.set({ work }, queue.running)
    },
  })
  new Gauge({
    name: 'plantstore_work_waiting',
    help: 'Queued searches, patches, changes of tokens and reservations of ids.',
    labelNames: ['work'],
    registers,
    collect() {
      for (const work of ['search', 'patch', 'change'] as const) this.set({ work }, queues[work].waiting)
    },
  })
  new Counter({
    name: 'plantstore_work_refused_total',
    help: 'Searches, exports, imports, dry runs, patches, changes of tokens and reservations of ids refused by a limit per token or for all clients.',
    labelNames: ['work', 'bound'],
    registers,
    collect() {
      this.reset()
      for (const [work, { refused }] of each) {
        for (const [bound, count] of Object.entries(refused)) this.inc({ work, bound }, count)
      }
    },
  })
}
