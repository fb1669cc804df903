import { environmentName, retirement, SETTINGS } from './config.ts'
import { RETIRED } from './limits.ts'

const PREFIX = environmentName('')
const KNOWN = Object.values(SETTINGS).map(({ flag }) => environmentName(flag))
/** Characters that may differ between a misspelt name and the setting that the message proposes. */
const MAX_TYPOS = 3

/**
 * A sentence that names the variables with the prefix of settings that are no settings; undefined without such a
 * variable. The program only warns of them, because platforms set some: Kubernetes does for a service named plantstore.
 */
export function unknownVariables(environment: NodeJS.ProcessEnv): string | undefined {
  const unknown = Object.keys(environment).filter((name) => name.startsWith(PREFIX) && !isSetting(name))
  if (unknown.length === 0) return undefined
  const shown = unknown.sort().map((name) => {
    const nearest = misspeltSetting(name)
    return nearest === undefined ? name : `${name} (did you mean ${nearest}?)`
  })
  return `ignored, as no setting has this name: ${shown.join(', ')}`
}

/** Whether a variable of this name is a setting. */
export const isSetting = (name: string): boolean => KNOWN.includes(name)

/** What to tell an operator who sets a variable of an earlier version; undefined for another name. */
export function retiredSetting(name: string): string | undefined {
  const found = Object.entries(RETIRED).find(([flag]) => environmentName(flag) === name)
  return found === undefined ? undefined : retirement(found[1])
}

/** The setting with nearly this name; undefined when there is none. */
export function misspeltSetting(name: string): string | undefined {
  const [nearest] = KNOWN.map((each) => ({ each, typos: typos(name, each) })).sort((a, b) => a.typos - b.typos)
  return nearest === undefined || nearest.typos > MAX_TYPOS ? undefined : nearest.each
}

/** Characters to insert, delete or replace to turn one text into the other (Levenshtein). */
function typos(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (const [i, character] of Array.from(one).entries()) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) {
      const replaced = (row[j] ?? 0) + (character === other[j] ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
