import { setTimeout } from 'node:timers/promises'
import fc, { check, type Parameters, type RunDetails } from 'fast-check'
import { noteTries } from './shortfalls.ts'

/** Milliseconds after which no further run of a property begins: all runs fit, except on a very busy machine. */
const BUDGET = 60_000
/** Milliseconds after the budget in which the last run must end. */
const TIMEOUT = 120_000

/** The environment variable with the seed of all properties of a test run, which global-setup.ts prints. */
export const SEED_VARIABLE = 'PLANTSTORE_TEST_SEED'

export interface Trials {
  readonly numRuns?: number
  /** Milliseconds. */
  readonly budget?: number
  readonly timeout?: number
}

/** Surrogates, which are no characters, lie from here on. */
const SURROGATES = 0xd800
const SURROGATE_COUNT = 0x800

/**
 * Any character of Unicode. fast-check's own unit `binary` first makes a map of a million characters, which takes 1.4 s
 * of processor time in each process.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - SURROGATE_COUNT }).map(
  (index) => String.fromCodePoint(index < SURROGATES ? index : index + SURROGATE_COUNT),
  (text) => {
    if (typeof text !== 'string' || !/^\P{Cs}$/u.test(text)) throw new Error('this is no character')
    const code = text.codePointAt(0) ?? 0
    return code < SURROGATES ? code : code - SURROGATE_COUNT
  },
)

/**
 * Tries a property with generated values, `numRuns` times or as often as the budget allows, and at least once. A
 * failure names its seed. Resolves after the last run, so that the caller can close what the runs use.
 *
 * @throws Error if the property does not hold or a run does not end
 */
export function holds<T>(property: fc.IProperty<T>, trials?: Trials): void
export function holds<T>(property: fc.IAsyncProperty<T>, trials?: Trials): Promise<void>
export function holds<T>(
  property: fc.IProperty<T> | fc.IAsyncProperty<T>,
  { numRuns = 100, budget = BUDGET, timeout = TIMEOUT }: Trials = {},
): void | Promise<void> {
  const parameters: Parameters<T> = {
    numRuns,
    interruptAfterTimeLimit: budget,
    markInterruptAsFailure: false,
    ...(SEED === undefined ? {} : { seed: SEED }),
  }
  if (!isAsync(property)) return report(check(property, parameters), numRuns)
  let underWay: Promise<unknown> | undefined
  const tracked: fc.IAsyncProperty<T> = Object.create(property, {
    run: {
      value: (value: T) => {
        const run = property.run(value)
        underWay = run
        return run
      },
    },
  })
  return (async () => {
    let details = await check(tracked, parameters)
    // A machine can be so busy that the time is over before the first run begins.
    while (underWay === undefined) details = await check(tracked, parameters)
    if (details.interrupted) await ended(underWay, timeout, details.seed)
    report(details, numRuns, details.interrupted ? 1 : 0)
  })()
}

const SEED = seedIn(process.env[SEED_VARIABLE])

function seedIn(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  if (!/^-?\d{1,10}$/.test(text)) throw new Error(`${SEED_VARIABLE} must be an integer, and not ${text}`)
  return Number(text)
}

function isAsync<T>(property: fc.IProperty<T> | fc.IAsyncProperty<T>): property is fc.IAsyncProperty<T> {
  return property.isAsync()
}

/** Waits for the last run: fast-check does not wait for a run after its time limit. */
async function ended(run: Promise<unknown>, timeout: number, seed: number): Promise<void> {
  const waiting = new AbortController()
  const tooLong = setTimeout(timeout, TOO_LONG, { signal: waiting.signal }).catch(() => TOO_LONG)
  const outcome = await Promise.race([run, tooLong])
  waiting.abort()
  if (outcome === TOO_LONG) throw new Error(`a run of the property does not end; seed: ${seed}`)
  if (typeof outcome === 'object' && outcome !== null && 'error' in outcome) {
    throw new Error(`the last run of the property failed; seed: ${seed}`, { cause: outcome.error })
  }
}

const TOO_LONG = Symbol('too long')

/** @param late runs that have passed after the time limit: fast-check takes it for a failure that none has before */
function report<T>(details: RunDetails<T>, wanted: number, late = 0): void {
  if (details.failed && (late === 0 || details.counterexample !== null)) {
    throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance })
  }
  if (details.interrupted) {
    const tries = details.numRuns + late
    noteTries(tries, wanted)
    console.log(`A property was tried ${tries} of ${wanted} times in its time; seed: ${details.seed}`)
  }
}
