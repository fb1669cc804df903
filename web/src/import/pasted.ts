import { pastedCsv } from '../../../src/import/sheet/pasted-rows.ts'
import { say } from '../language/language.ts'
import { PageError } from '../page/said.ts'
import type { WorkbookSheet } from './workbook.ts'

/** UTF-16 units of pasted rows: they take as much memory as the page unpacks of a workbook. */
const MOST = 2 ** 26

/**
 * Makes a sheet of copied rows. It has no name, by which a browser could remember it.
 *
 * @throws PageError for a text without rows, and for one that is too long
 */
export function pastedSheet(text: string): WorkbookSheet {
  if (text.trim() === '') throw new PageError(say('import.nothingPasted'))
  if (text.length > MOST) throw new PageError(say('import.pastedTooLarge'))
  return { name: '', csv: new File([pastedCsv(text)], say('import.pasted')), tableRows: 0, filled: 0 }
}
