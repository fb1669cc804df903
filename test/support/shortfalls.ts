// What a run of tests did not try on this machine: notes it, for the reporter, which counts it in one line.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** The environment variable with the path of the file that has a line for each shortfall. */
export const SHORTFALLS_VARIABLE = 'PLANTSTORE_TEST_SHORTFALLS'

/** With `yes` in this environment variable, a run fails for each shortfall: the machine has all that the tests take. */
export const WHOLE_VARIABLE = 'PLANTSTORE_TEST_WHOLE'

const UNTESTED = 'untested '
const TRIES = 'tries '

/** Notes a promise that this machine cannot test. */
export function noteUntested(what: string): void {
  note(UNTESTED, what)
}

/** Notes a property of the present file that was tried fewer than a tenth of the times wanted. */
export function noteTries(tried: number, wanted: number): void {
  if (tried < wanted / 10) note(TRIES, `${relative(process.cwd(), process.argv[1] ?? '')} ${tried} of ${wanted}`)
}

function note(kind: string, text: string): void {
  const path = process.env[SHORTFALLS_VARIABLE]
  if (path !== undefined) appendFileSync(path, `${kind}${text.replaceAll('\n', ' ')}\n`)
}

/** @returns the line with the counts, and whether there is any */
export function shortfalls(): { readonly line: string; readonly isWhole: boolean } {
  const path = process.env[SHORTFALLS_VARIABLE]
  const lines = path !== undefined && existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  const untested = lines.filter((line) => line.startsWith(UNTESTED))
  const tries = lines.filter((line) => line.startsWith(TRIES)).map((line) => line.slice(TRIES.length))
  const named = tries.length === 0 ? '' : `: ${tries.join(', ')}`
  return {
    line: `not tested here: ${untested.length}; properties tried fewer than a tenth of their times: ${tries.length}${named}`,
    isWhole: lines.length === 0,
  }
}
