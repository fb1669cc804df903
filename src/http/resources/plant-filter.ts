import { words } from '../../fold.ts'
import type { PlantFilter } from '../../plant-query.ts'
import type { OperationParameters } from '../operations.generated.ts'

/** The plants that the parameters `tag` and `q` mean. */
export function filterOf({ tag = [], q = '' }: OperationParameters['listPlants' | 'exportPlants']): PlantFilter {
  return { tags: [...new Set(tag)], words: [...new Set(words(q))] }
}
