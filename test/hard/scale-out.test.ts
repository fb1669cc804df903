import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { Load } from '../support/load.ts'
import { hasNginx, nginxOf, readGuide, startNginx } from '../support/nginx.ts'
import { notTestedHere } from '../support/not-tested.ts'
import { newDatabase, plantsOf } from '../support/postgres.ts'
import { type Served, serveStore } from '../support/process.ts'

const GUIDE = readGuide('scale-out')
/** The flags of the instances in the guide. */
const FLAGS = /`(--drain-window \w+)`/.exec(GUIDE)?.[1]?.split(' ') ?? assert.fail('the guide has no drain window')

test('a rolling restart of two instances behind nginx, as in the guide, fails no request under load', async (t) => {
  if (!hasNginx()) {
    return notTestedHere(t, 'a rolling restart behind nginx, because there is no nginx')
  }
  const url = await newDatabase(t)
  const ports = [await freePort(), await freePort()]
  const start = (port: number) => serveStore(t, url, ['--port', String(port), ...FLAGS])
  const instances: Served[] = []
  for (const port of ports) instances.push(await start(port))
  const port = await freePort()
  const addresses = {
    '10.0.0.11:8080': `127.0.0.1:${ports[0]}`,
    '10.0.0.12:8080': `127.0.0.1:${ports[1]}`,
    // Without TLS, so that the load does not spend its time on encryption.
    'listen 443 ssl;': `listen 127.0.0.1:${port};`,
    'ssl_certificate /etc/ssl/plants.example.pem;': '',
    'ssl_certificate_key /etc/ssl/plants.example.key;': '',
  }
  const load = new Load(await startNginx(t, nginxOf(GUIDE, addresses), port), { clients: 32 })
  for (const [i, each] of ports.entries()) {
    await load.reaches(load.acknowledged.size + 300)
    const { program } = instances[i] ?? assert.fail()
    program.signal('SIGTERM')
    assert.equal((await program.outcome).code, 0)
    await load.reaches(load.acknowledged.size + 300)
    instances[i] = await start(each)
  }
  await load.reaches(load.acknowledged.size + 300)
  await load.stop()
  assert.deepEqual([[...load.refused], load.broken], [[], []])
  load.assertAllAmong(new Map((await plantsOf(url)).map(({ id, ...plant }) => [id, plant])))
})
