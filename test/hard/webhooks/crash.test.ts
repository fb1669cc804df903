import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { tempFolder } from '../../support/files.ts'
import { freePort } from '../../support/free-port.ts'
import { startServer, TOKEN } from '../../support/process.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

/** Of each of two services. */
const KILLS = 6
const PLANTS = 16
/** Events of a webhook that a crash may repeat: those that are not stored yet, and those under way. */
const WINDOW = 96

interface Event {
  readonly id: number
  readonly name: string
}

// Side by side, because most of the time goes by while a service starts.
suite(`a service that is killed ${KILLS} times delivers every change, in order for each plant`, {
  concurrency: true,
}, () => {
  test('soon after each start', (t) => killed(t, () => 10))

  test('under load', (t) => killed(t, (kill) => 40 + 40 * kill))
})

/** @param enough events that are delivered before a kill */
async function killed(t: TestContext, enough: (kill: number) => number): Promise<void> {
  const folder = tempFolder(t)
  /** What the receiver has answered, in this order. What it leaves unanswered, it forgets. */
  const answered: Event[] = []
  /** The plant whose first event is under way at the kill, and whose others wait. */
  let hanging: number | undefined
  const receiver = await startReceiver(t, {
    respond(response, { body }) {
      const { data } = JSON.parse(body) as { data: Event }
      if (data.id === hanging) return
      response.writeHead(204).end()
      answered.push(data)
    },
  })
  const flags = ['--changes-keep', '30d', '--webhook-allow', 'loopback', '--port', String(await freePort())]
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
  /** The versions of each plant that the service has acknowledged. */
  const acknowledged = Array.from({ length: PLANTS }, (): number[] => [])
  let version = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const { program, address } = await startServer(t, folder, flags)
    if (kill === 0) {
      const body = JSON.stringify({ url: receiver.url })
      const { status } = await fetch(`${address}/webhooks`, { method: 'POST', headers, body })
      assert.equal(status, 201)
    }
    const before = answered.length
    hanging = kill % PLANTS
    const write = async (plant: number) => {
      for (;;) {
        const name = String(++version)
        const body = JSON.stringify({ name })
        const answer = await fetch(`${address}/plants/${plant}`, { method: 'PUT', headers, body }).catch(
          () => undefined,
        )
        if (answer === undefined) return
        if (answer.ok) acknowledged[plant]?.push(Number(name))
      }
    }
    const writers = Array.from({ length: PLANTS }, (_, plant) => write(plant))
    await until(() => answered.length > before + enough(kill), 'nothing is delivered')
    await program.kill()
    await Promise.all(writers)
  }
  hanging = undefined
  await startServer(t, folder, flags)
  /** The versions of each plant in the order in which they came first. */
  const came = Array.from({ length: PLANTS }, () => new Set<number>())
  let read = 0
  const missing = (): number => {
    for (; read < answered.length; read++) {
      const { id, name } = answered[read] ?? assert.fail()
      came[id]?.add(Number(name))
    }
    return acknowledged.flatMap((all, plant) => all.filter((each) => came[plant]?.has(each) !== true)).length
  }
  await until(
    () => missing() === 0,
    () => `${missing()} acknowledged changes are lost`,
  )
  for (const versions of came)
    assert.deepEqual(
      [...versions],
      [...versions].toSorted((x, y) => x - y),
    )
  const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
  const repeated = receiver.received.length - ids.size
  assert.ok(repeated <= KILLS * WINDOW, `${repeated} events came twice`)
}
