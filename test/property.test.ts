import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { holds } from './support/property.ts'
import { SHORTFALLS_VARIABLE } from './support/shortfalls.ts'

// The properties here are to run out of time, which is no shortfall of the run.
delete process.env[SHORTFALLS_VARIABLE]

suite('a property test', () => {
  test('names its seed and its counterexample when it fails', async () => {
    const fails = (value: number) => assert.ok(value < 5)
    const message = /seed: -?\d+, path: "[\d:]+"[\s\S]*Counterexample: \[5\]/
    assert.throws(() => holds(fc.property(fc.nat(), fails)), message)
    await assert.rejects(holds(fc.asyncProperty(fc.nat(), async (value) => fails(value))), message)
  })

  test('ends when its time is over, and passes with the runs so far', async () => {
    let runs = 0
    let underWay = 0
    const slow = fc.asyncProperty(fc.nat(), async () => {
      underWay++
      await setTimeout(20)
      underWay--
      runs++
    })
    await holds(slow, { numRuns: 1_000_000, budget: 200 })
    assert.ok(runs > 0)
    assert.equal(underWay, 0, 'the last run has ended too')
    let tried = 0
    holds(
      fc.property(fc.nat(), () => {
        tried++
      }),
      { numRuns: 1_000_000_000, budget: 50 },
    )
    assert.ok(tried > 0)
  })

  test('fails if its last run fails or takes too long', async () => {
    let runs = 0
    const late = (work: () => Promise<void>) =>
      fc.asyncProperty(fc.nat(), async () => {
        if (runs++ > 0) await work()
      })
    const failing = async () => {
      await setTimeout(300)
      throw new Error('late')
    }
    await assert.rejects(holds(late(failing), { budget: 100 }), /the last run of the property failed; seed: -?\d+/)
    runs = 0
    const hanging = () => new Promise<void>(() => {})
    const trials = { budget: 100, timeout: 100 }
    await assert.rejects(holds(late(hanging), trials), /a run of the property does not end; seed: -?\d+/)
  })
})
