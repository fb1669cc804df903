import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { DeferredTasks } from '../../src/http/admission/turns.ts'
import { ReadScheduler } from '../../src/http/port/read-scheduler.ts'

/** Bytes of requests that fill a turn of the event loop. */
const FULL = 3 * 2 ** 20

test('a new client reads within two turns, however much the clients before it send', async (t) => {
  const read: string[] = []
  const all: Client[] = []
  const scheduler = new ReadScheduler(() => all, new DeferredTasks())
  class Client {
    isPaused = false
    isGone = false
    wasRead = true
    readonly name: string
    constructor(name: string) {
      this.name = name
      all.push(this)
    }
    pause() {
      this.isPaused = true
    }
    /** Each read fills the turn again, so all others stay paused. */
    read() {
      this.isPaused = false
      this.wasRead = true
      read.push(this.name)
      scheduler.count(FULL)
    }
  }
  t.after(() => {
    for (const client of all) client.isGone = true
  })
  for (let i = 0; i < 5; i++) new Client('flood')
  scheduler.count(FULL)
  for (let i = 0; i < 4; i++) await turn()
  assert.ok(read.length >= 3, 'the flood reads in turns')
  const fresh = new Client('fresh')
  fresh.wasRead = false
  scheduler.add(fresh)
  read.length = 0
  for (let i = 0; i < 5; i++) await turn()
  assert.ok(read.slice(0, 3).includes('fresh'), `${read} in this order`)
})
