import { environmentName, SETTINGS } from '../src/config.ts'
import type { Setting } from '../src/setting.ts'
import { table } from './markdown.ts'

const INTRODUCTION = `# Configuration

A setting is given as a flag of \`plantstore serve\` or as an environment variable. The flag goes first, then the
variable, then the default; a variable that is empty counts as not set. Nothing is read from files.

- TIME is a whole number with \`ms\`, \`s\` or \`m\`, at most 60m. A timeout of \`0s\` is none.
- SIZE is a whole number with \`B\`, \`KiB\` or \`MiB\`, at most 512MiB; without a unit it is bytes.
- A setting that says so can be \`off\`.

Everything that is wrong with a configuration is reported together, before anything is opened, and the exit code is 2.
`

/** Every setting of src/config.ts. */
export function configurationPage(): string {
  return `${INTRODUCTION}\n${table([['flag', 'variable', 'default', 'meaning'], ...Object.values(SETTINGS).map(cells)])}`
}

function cells({ flag, value, fallback, help }: Setting<unknown>): string[] {
  return [code(`--${flag} ${value}`), code(environmentName(flag)), fallback === undefined ? '' : code(fallback), help]
}

const code = (text: string): string => `\`${text}\``
