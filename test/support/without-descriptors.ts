// Runs as a process of its own under a low limit of descriptors: starts a service, takes all descriptors that are left, and
// says in lines what a search and readiness are answered, without a descriptor and with descriptors again.
import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { withService } from './service.ts'

const closers: (() => Promise<void> | void)[] = []
const service = await withService({ after: (close) => closers.push(close) })
// The connection that all requests here take, and in a warm service a reader.
await service.send('GET', process.argv[2] === 'warm' ? '/health/ready' : '/health/live')
// So long a check is used again.
await sleep(1100)
const taken: number[] = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch {
  console.log(await state())
}
for (const fd of taken) closeSync(fd)
await sleep(1100)
console.log(await state())
for (const close of closers.reverse()) await close()

async function state(): Promise<string> {
  const ready = await service.send('GET', '/health/ready')
  const search = await service.send('GET', '/plants?q=x')
  return `${ready.status} ${search.status} ${ready.body}`
}
