import { counted, shown } from '../base/printable.ts'
import { listed } from '../import/sheet/columns.ts'
import { type Findings, idWithoutNumbers, notKept, SheetLook } from '../import/sheet/look.ts'
import type { SheetPlan } from '../import/sheet/read-sheet.ts'
import { rowsOf, type Sheet } from '../import/sheet/sheet.ts'
import { plantsOf } from '../import/sheet/sheet-plants.ts'

/** Looks at all rows of a sheet. */
export async function lookAt(plan: Sheet & SheetPlan): Promise<Findings> {
  const look = new SheetLook(plan.mapping, plan.columns)
  for await (const plants of plantsOf(rowsOf(plan), plan, look)) for (const _ of plants);
  return look.findings
}

export const refusesMost = ({ refused, rows }: Findings): boolean => 2 * refused > rows

/** The first refused row, with its reason. */
export function firstRefusal({ refusedRows }: Findings): string {
  const first = refusedRows.find(({ isHeading }) => isHeading !== true)
  return first === undefined ? '' : `row ${first.row}: ${first.reason}`
}

/** Says it in lines, as the page does. */
export function linesOf({ columns, mapping }: SheetPlan, seen: Findings): readonly string[] {
  const { plants, names, noValues, doubtful, tagsAbove } = seen
  const left = notKept(columns, mapping)
  const unnumbered = idWithoutNumbers(columns, mapping)
  return [
    left.length > 0 && `not kept: ${left.length === 1 ? 'the column' : 'the columns'} ${listed(left)}`,
    unnumbered !== undefined && `the column ${shown(unnumbered)} has no numbers: ids are assigned`,
    names !== undefined && `${counted(plants, 'row')} have only ${counted(names, 'different name')}`,
    noValues > 0 && `tags that may stand for none, in ${counted(noValues, 'row')}: ${noValueOf(seen)}`,
    doubtful.size > 0 && `rows that look like totals or headings: ${doubtfulOf(doubtful)}`,
    tagsAbove > 0 && `rows without a tag, below one that may hold for them: ${tagsAbove}`,
    refusesMost(seen) && `most rows are refused: ${firstRefusal(seen)}`,
  ].filter((line) => line !== false)
}

export const noValueOf = ({ noValueTexts }: Findings): string => noValueTexts.map(shown).join(', ')

const LISTED = 5

function doubtfulOf(rows: ReadonlyMap<number, string>): string {
  const first = Array.from(rows, ([row, text]) => `${row} ${shown(text)}`).slice(0, LISTED)
  return rows.size > LISTED ? `${first.join(', ')} and ${rows.size - LISTED} more` : first.join(', ')
}
