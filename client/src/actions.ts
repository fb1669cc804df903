import type { UndoReport } from './contract.generated.ts'
import { int64 } from './exact-json.ts'
import type { Success } from './judge.ts'
import type { ActionOptions, ReportOf } from './options.ts'
import { plantOf } from './plants.ts'

/** The headers that name the action of a change. */
export const actionHeaders = ({ action, actionTitle }: ActionOptions): Record<string, string> => ({
  ...(action === undefined ? {} : { 'Plantstore-Action': action }),
  ...(actionTitle === undefined ? {} : { 'Plantstore-Action-Title': encodeURIComponent(actionTitle) }),
})

/** Adds to a report the id of its action, which the answer names. */
export function withAction<Report>(report: Report, { headers }: Success): ReportOf<Report> {
  const action = headers.get('Plantstore-Action')
  return { ...report, ...(action === null ? {} : { action }) }
}

/** The report of an answer, in which short ids are numbers. */
export const undoReportOf = ({ leftPlants, ...report }: UndoReport): UndoReport => ({
  ...report,
  leftPlants: leftPlants.map(({ id, plant }) => ({ id: int64(id), ...(plant && { plant: plantOf(plant) }) })),
})
