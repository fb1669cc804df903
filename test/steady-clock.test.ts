import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { SteadyClock } from '../src/records/steady-clock.ts'
import { makeSchema } from '../src/sqlite/open/prepare-file.ts'
import { runSteps, StatementCache } from '../src/sqlite/rows.ts'
import { movableClock, movableTime } from './support/clock.ts'

const [MINUTE, DAY, YEAR] = [60_000, 86_400_000, 365 * 86_400_000]

/** A store, and programs that open it one after the other or beside each other. */
function newStore() {
  const db = new DatabaseSync(':memory:', { readBigInts: true })
  makeSchema(db, 2)
  const statements = new StatementCache(db)
  const open = () => {
    const clock = new SteadyClock('SELECT max(position) FROM changes')
    return () => runSteps(statements, clock.now())
  }
  const times = () => db.prepare('SELECT count(*) AS n FROM steady_times').get()?.['n']
  return { open, times }
}

const near = (actual: number, expected: number, what: string) =>
  assert.ok(Math.abs(actual - expected) < 10_000, `${what}: ${actual - expected} ms too many`)

test('the clock of a store counts the time that passes, and no step of the wall clock', (t) => {
  const [pass, step] = [movableTime(t), movableClock(t)]
  const now = newStore().open()
  const start = now()
  for (const years of [14, -14, -56, 56]) {
    step(years * YEAR)
    near(now(), start, `${years} years`)
  }
  pass(3 * DAY)
  near(now(), start + 3 * DAY, 'three days')
})

test('between two starts, the clock of a store counts what the wall clock says, but five minutes at most', (t) => {
  const step = movableClock(t)
  const { open } = newStore()
  const start = open()()
  step(2 * MINUTE)
  near(open()(), start + 2 * MINUTE, 'two minutes')
  step(-56 * YEAR)
  near(open()(), start, 'in 1970')
  step(56 * YEAR + 40 * DAY)
  near(open()(), start + 5 * MINUTE, 'forty days')
})

test('programs that have a store open at once share its clock', (t) => {
  const pass = movableTime(t)
  const { open, times } = newStore()
  const [one, other] = [open(), open()]
  const start = one()
  near(other(), start, 'at the start')
  pass(DAY)
  near(one(), start + DAY, 'of one')
  near(other(), start + DAY, 'of the other')
  // A time is stored every five minutes at most, however often a program asks.
  for (let i = 0; i < 50; i++) one()
  assert.equal(times(), 2n)
})
