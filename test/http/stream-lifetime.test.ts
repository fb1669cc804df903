import assert from 'node:assert/strict'
import { openStream } from '../support/event-stream.ts'
import { onService } from '../support/service-tests.ts'
import { until } from '../support/until.ts'

// In a file of its own, as it runs on one engine: its steps of the clock would end the time of a statement of PostgreSQL.
onService('a stream of changes ends by itself after an hour, give or take a tenth', async (service, t) => {
  const now = performance.now.bind(performance)
  let ahead = 0
  t.mock.method(performance, 'now', () => now() + ahead)
  const stream = await openStream(service, '/changes?after=now')
  await until(() => stream.events.length === 1, 'the stream does not give its position')
  ahead = 53 * 60_000
  // After the 15 seconds, too, so that a sign of life shows that the stream has looked at the clock.
  await until(() => stream.events.length === 2, 'the stream gives no sign of life')
  assert.equal(stream.hasEnded, false)
  ahead = 66 * 60_000
  await stream.untilEnded()
  assert.equal(stream.isComplete, true)
})
