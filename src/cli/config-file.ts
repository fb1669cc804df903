import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { OperatorError } from '../base/operator-error.ts'
import { isSetting, misspeltSetting, retiredSetting } from '../settings/unknown-variables.ts'
import { fileFault } from './file-fault.ts'

/** The default file, in the working directory. */
const DEFAULT_FILE = '.env'
const MAX_SIZE = 2 ** 20
/** Variables of other programs that the service reads, such as PGPASSWORD. */
const FOREIGN_VARIABLES = /^PG[A-Z]+$/

/** The settings of a file with lines `NAME=value`, where NAME is the environment variable of the setting. */
export interface ConfigFile {
  readonly path: string
  readonly values: Readonly<Record<string, string>>
}

/**
 * Reads the named file, or `.env` if it exists.
 *
 * @throws OperatorError (exit code 2) that names every fault of the file at once
 */
export function readConfigFile(named: string | undefined): ConfigFile | undefined {
  const path = named ?? DEFAULT_FILE
  const stat = statSync(path, { throwIfNoEntry: false })
  // A folder called .env belongs to another program.
  if (named === undefined && stat?.isFile() !== true) return undefined
  if (stat === undefined) throw refusal(path, ['there is no such file'])
  if (!stat.isFile()) throw refusal(path, ['it is not a file'])
  if (stat.size > MAX_SIZE) throw refusal(path, ['it is larger than 1 MiB'])
  const text = contentOf(path)
  const { names, faults } = namesIn(text)
  for (const name of new Set(names)) {
    if (names.indexOf(name) !== names.lastIndexOf(name)) faults.push(`${name} is set more than once`)
    const fault = nameFault(name, named !== undefined)
    if (fault !== undefined) faults.push(fault)
  }
  if (faults.length > 0) throw refusal(path, faults)
  const values = Object.entries(parseEnv(text)).filter(([name]) => isSetting(name) || FOREIGN_VARIABLES.test(name))
  return { path, values: Object.fromEntries(values) as Record<string, string> }
}

/** Adds the variables of the file that the environment does not set. An empty variable counts as not set. */
export function withFile(environment: NodeJS.ProcessEnv, file: ConfigFile | undefined): NodeJS.ProcessEnv {
  if (file === undefined) return environment
  const given = Object.entries(environment).filter(([name, value]) => value !== '' || !isSetting(name))
  return { ...file.values, ...Object.fromEntries(given) }
}

function contentOf(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    if (error instanceof TypeError) throw refusal(path, ['it is not UTF-8 text'])
    throw fileFault(path, error)
  }
}

/** Reports lines that are not assignments: parseEnv would ignore them, and the settings in them. */
function namesIn(text: string): { names: string[]; faults: string[] } {
  const names: string[] = []
  const faults: string[] = []
  for (const [i, line] of text.split('\n').entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const name = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=/.exec(line)?.[1]
    if (name === undefined) faults.push(`line ${i + 1} is not NAME=value`)
    else names.push(name)
  }
  return { names, faults }
}

/** @param isOurs whether all variables must be settings; `.env` may also hold variables of other programs */
function nameFault(name: string, isOurs: boolean): string | undefined {
  if (isSetting(name) || FOREIGN_VARIABLES.test(name)) return undefined
  const retired = retiredSetting(name)
  if (retired !== undefined) return `${name} ${retired}`
  if (isOurs && name.startsWith('OTEL_'))
    return `${name} belongs into the environment of Node.js, which loads the traces`
  const nearest = misspeltSetting(name)
  if (nearest !== undefined) return `no setting is called ${name} (did you mean ${nearest}?)`
  return isOurs || name.startsWith('PLANTSTORE_') ? `no setting is called ${name}` : undefined
}

const refusal = (path: string, faults: readonly string[]): OperatorError =>
  new OperatorError(faults.map((fault) => `${path}: ${fault}`).join('\n'), { exitCode: 2 })
