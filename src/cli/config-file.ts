import { isUtf8 } from 'node:buffer'
import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { usageError } from '../base/operator-error.ts'
import { type Config, environmentName, SETTINGS, shownStore } from '../settings/config.ts'
import { onFile } from './plant-files.ts'

const DEFAULT_FILE = '.env'
const MAX_SIZE = 2 ** 20
const MAX_SECRET = 2 ** 16
/** Variables of other programs that the service reads, such as PGPASSWORD. */
const FOREIGN_VARIABLES = /^PG[A-Z]+$/

/** The settings of a file with lines `NAME=value`, where NAME is the environment variable of the setting. */
export interface ConfigFile {
  readonly path: string
  readonly values: Readonly<Record<string, string>>
  readonly faults: readonly string[]
}

/** Returns the environment with what files set, and all faults of these files. @throws what readConfigFile throws */
export function readEnvironment(given: NodeJS.ProcessEnv, named: string | undefined): WithSecrets {
  const file = readConfigFile(named)
  const { environment, faults } = withSecretFiles(withFile(given, file))
  return { environment, faults: [...(file?.faults ?? []), ...faults] }
}

/**
 * Reads the named file, or `.env` if it exists.
 *
 * @throws OperatorError (exit code 2) when the file has no lines that can be read
 */
export function readConfigFile(named: string | undefined): ConfigFile | undefined {
  const path = named ?? DEFAULT_FILE
  const stat = statSync(path, { throwIfNoEntry: false })
  // A folder called .env belongs to another program.
  if (named === undefined && stat?.isFile() !== true) return undefined
  if (stat === undefined) throw usageError(path, 'there is no such file')
  if (!stat.isFile()) throw usageError(path, 'it is not a file')
  if (stat.size > MAX_SIZE) throw usageError(path, 'it is larger than 1 MiB')
  const bytes = onFile(path, () => readFileSync(path))
  if (!isUtf8(bytes)) throw usageError(path, 'it is not UTF-8 text')
  // Leaves out a byte order mark.
  const text = new TextDecoder().decode(bytes)
  const names = new Set<string>()
  const faults = text.split('\n').flatMap((line, i) => {
    if (/^\s*(?:#|$)/.test(line)) return []
    const name = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=/.exec(line)?.[1]
    // parseEnv would ignore the line, and the settings in it.
    if (name === undefined) return [`line ${i + 1} is not NAME=value`]
    if (names.has(name)) return [`${name} is set more than once`]
    names.add(name)
    return nameFault(name, named !== undefined) ?? []
  })
  const values = Object.entries(parseEnv(text)).filter(([name]) => isSetting(name) || FOREIGN_VARIABLES.test(name))
  return {
    path,
    values: Object.fromEntries(values) as Record<string, string>,
    faults: faults.map((fault) => `${path}: ${fault}`),
  }
}

/** Adds the variables of the file that the environment does not set. An empty variable counts as not set. */
export function withFile(environment: NodeJS.ProcessEnv, file: ConfigFile | undefined): NodeJS.ProcessEnv {
  if (file === undefined) return environment
  const given = Object.entries(environment).filter(([name, value]) => value !== '' || !isSetting(name))
  return { ...file.values, ...Object.fromEntries(given) }
}

/** An environment in which files with secrets stand for their variables, and what is wrong with them. */
interface WithSecrets {
  readonly environment: NodeJS.ProcessEnv
  readonly faults: readonly string[]
}

/** Reads the files that `PLANTSTORE_TOKEN_FILE` and the like name, as platforms mount secrets. */
function withSecretFiles(environment: NodeJS.ProcessEnv): WithSecrets {
  const values: Record<string, string> = {}
  const faults: string[] = []
  for (const variable of SECRETS) {
    const named = variable + FILE_ENDING
    const path = environment[named]
    if (path === undefined || path === '') continue
    const fault = (why: string) => faults.push(`${named}: ${why}`)
    if (environment[variable]) {
      fault(`${variable} is set, too; set one of them`)
      continue
    }
    try {
      const value = readSecret(path)
      if (value === '') fault(`${path} is empty`)
      else values[variable] = value
    } catch (error) {
      fault(error instanceof Error ? error.message : String(error))
    }
  }
  return { environment: { ...environment, ...values }, faults }
}

/** Reads a file without the end of its last line, which editors and `kubectl create secret --from-file` keep. */
function readSecret(path: string): string {
  const stat = onFile(path, () => statSync(path))
  if (!stat.isFile()) throw new Error(`${path} is not a file`)
  if (stat.size > MAX_SECRET) throw new Error(`${path} is larger than 64 KiB`)
  const text = onFile(path, () => readFileSync(path, 'utf8')).replace(/\r?\n$/, '')
  if (/[\r\n]/.test(text)) throw new Error(`${path} has more than one line`)
  return text
}

/** @param isOurs whether all variables must be settings; `.env` may also hold variables of other programs */
function nameFault(name: string, isOurs: boolean): string | undefined {
  if (isSetting(name) || FOREIGN_VARIABLES.test(name)) return undefined
  if (isOurs && name.startsWith('OTEL_'))
    return `${name} belongs into the environment of Node.js, which loads the traces`
  const hint = hintAt(name)
  return isOurs || hint !== '' || name.startsWith(PREFIX) ? `no setting is called ${name}${hint}` : undefined
}

interface Sources {
  /** The flags by the names of their settings. */
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly environment: NodeJS.ProcessEnv
  readonly file: ConfigFile | undefined
}

/** Returns the settings in effect and their sources, as lines of a configuration file. Leaves out secrets. */
export function configLines(config: Config, { flags, environment, file }: Sources): string {
  const secrets = withSecretFiles(withFile(environment, file)).environment
  const lines = Object.entries(SETTINGS).map(([key, { flag, fallback }]) => {
    const variable = environmentName(flag)
    const [given, source] =
      [
        [flags[key], `--${flag}`],
        [environment[variable] || undefined, 'environment'],
        [file?.values[variable], file?.path],
        [secrets[variable], `${variable}${FILE_ENDING}`],
        [fallback, 'default'],
      ].find(([value]) => value !== undefined) ?? []
    if (given === undefined) return `# ${variable} is not set`
    if (key === 'token') return `# ${variable} is set and hidden  # ${source}`
    // shownStore leaves out a password in the address.
    return `${variable}=${quoted(key === 'store' ? shownStore(config.store) : given)}  # ${source}`
  })
  return `${lines.join('\n')}\n`
}

function quoted(text: string): string {
  if (/^[^\s#'"`\\]+$/.test(text)) return text
  return text.includes("'") ? `"${text}"` : `'${text}'`
}

const PREFIX = environmentName('')
const FILE_ENDING = '_FILE'
/** The variables of settings that a file can hold. */
const SECRETS = Object.values(SETTINGS)
  .filter(({ isSecret }) => isSecret)
  .map(({ flag }) => environmentName(flag))
const KNOWN = [
  ...Object.values(SETTINGS).map(({ flag }) => environmentName(flag)),
  ...SECRETS.map((variable) => variable + FILE_ENDING),
]
/** Characters that may differ between a misspelt name and the setting that the message proposes. */
const MAX_TYPOS = 3

/**
 * What Kubernetes sets `PLANTSTORE_PORT` to in every pod beside a Service named `plantstore`, and
 * `PLANTSTORE_METRICS_PORT` beside one named `plantstore-metrics`. No setting has such a value.
 */
const SERVICE_LINK = /^(?:tcp|udp|sctp):\/\//

const isServiceLink = ([name, value]: [string, string | undefined]): boolean =>
  isSetting(name) && SERVICE_LINK.test(value ?? '')

/** Leaves out variables of settings that Kubernetes has set to the address of a Service. */
export const withoutServiceLinks = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter((entry) => !isServiceLink(entry)))

/**
 * A sentence that names the variables with the prefix of settings that count as not set; undefined without such a
 * variable. The program only warns of them, because platforms set some: Kubernetes does for a service named plantstore.
 */
export function ignoredVariables(environment: NodeJS.ProcessEnv): string | undefined {
  const ours = Object.entries(environment).filter(([name]) => name.startsWith(PREFIX))
  const unknown = ours.filter(([name]) => !isSetting(name)).map(([name]) => name + hintAt(name))
  const links = ours.filter(isServiceLink).map(([name]) => name)
  const sentences = [
    ...(unknown.length > 0 ? [`ignored, as no setting has this name: ${unknown.sort().join(', ')}`] : []),
    ...(links.length > 0 ? [`ignored, as it holds the address of a Service: ${links.sort().join(', ')}`] : []),
  ]
  return sentences.length > 0 ? sentences.join('; ') : undefined
}

export const isSetting = (name: string): boolean => KNOWN.includes(name)

/** Names the setting with nearly this name; empty when there is none. */
function hintAt(name: string): string {
  const [nearest] = KNOWN.map((each) => ({ each, typos: typos(name, each) })).sort((a, b) => a.typos - b.typos)
  return nearest === undefined || nearest.typos > MAX_TYPOS ? '' : ` (did you mean ${nearest.each}?)`
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
