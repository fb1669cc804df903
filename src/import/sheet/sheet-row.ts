import { shown } from '../../base/printable.ts'
import { AppError } from '../../domain/errors.ts'
import type { PlantCandidate } from '../../domain/plant.ts'
import { candidateOf } from '../csv-rows.ts'

/**
 * Errors of formulas: as workbooks have them (ECMA-376 part 1, 18.17.3), as German, French, Spanish and Dutch programs
 * save them in CSV, and LibreOffice's own.
 */
const ERRORS: ReadonlySet<string> = new Set(
  `#REF! #N/A #VALUE! #DIV/0! #NAME? #NUM! #NULL! #BEZUG! #NV #WERT! #ZAHL! #VALEUR! #NOM? #NOMBRE! #NUL! #VALOR!
    #\u00a1REF! #\u00a1VALOR! #\u00a1DIV/0! #\u00bfNOMBRE? #\u00a1NUM! #\u00a1NULO! #N/D #N/B #VERW! #WAARDE! #DEEL/0! #NAAM? #GETAL! #LEEG!`.split(
    /\s+/,
  ),
)
const OWN_ERROR = /^Err:\d{3}$/

/** Characters that show nothing, such as a no-break space and a zero width space. */
const UNSEEN = /^[\p{Z}\p{Cf}\s]+$/u

/**
 * Reads a row of a sheet as `candidateOf` does, but takes a text that shows nothing for an empty cell.
 *
 * @throws AppError 40001, 40002; also for the error of a formula, which is no text that a person wrote
 */
export function sheetCandidateOf(...row: Parameters<typeof candidateOf>): PlantCandidate {
  const { id, name, tag } = candidateOf(...row)
  return { id, name: textIn(name, 'name'), tag: textIn(tag, 'tag') }
}

function textIn(text: unknown, member: 'name' | 'tag'): string | undefined {
  if (typeof text !== 'string' || UNSEEN.test(text)) return undefined
  const word = text.trim()
  if (!ERRORS.has(word) && !OWN_ERROR.test(word)) return text
  throw new AppError(40002, `the ${member} is the error ${shown(word)} of a formula; mend the formula in the sheet`)
}
