import { say } from '../language/language.ts'
import { PageError } from '../page/said.ts'

/** Browsers fail again at an address from which they could not load a module once, so each failure changes it. */
let failures = 0

/** Loads what reads and writes workbooks, which the page needs for nothing else. */
export async function loadWorkbook(): Promise<typeof import('./workbook.js')> {
  try {
    if (failures === 0) return await import('./workbook.js')
    const address = `./workbook.js#${failures}`
    return await import(address)
  } catch {
    failures += 1
    // The browser's own message is for programmers.
    throw new PageError(say('fault.unreachable'))
  }
}
