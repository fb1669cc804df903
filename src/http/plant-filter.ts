import { words } from '../fold.ts'
import type { PlantFilter } from '../plant-query.ts'
import type { Parameters } from './parameters.ts'

/** The plants that the parameters `tag` and `q` mean. */
export function filterOf(parameters: Parameters): PlantFilter {
  const { tag = [], q = '' } = parameters as { tag?: readonly string[]; q?: string }
  return { tags: [...new Set(tag)], words: [...new Set(words(q))] }
}
