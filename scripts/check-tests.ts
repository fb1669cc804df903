// Finds skipped tests, silenced types, and files and functions that are too long.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesOf, ROOT, report } from './repository.ts'

interface Rule {
  readonly folders: readonly string[]
  /** Searches code and comments; with `code`, code alone. */
  readonly pattern: RegExp
  readonly code?: true
  readonly fault: string
}

const MAX_LINES = 400
const CODE = ['src', 'client/src', 'web/src', 'test', 'bench', 'scripts']
const RULES: readonly Rule[] = [
  {
    folders: ['test'],
    pattern: /\b(?:test|it|describe|suite|t|context)\.(?:skip|only|todo)\b|[{,]\s*(?:skip|only|todo)\s*[:,}]/,
    fault: 'a test is skipped, singled out or only announced; mend or remove it',
  },
  {
    folders: ['test'],
    pattern: /\bfc\.(?:assert|check)\(/,
    fault: 'a property is tried without a time budget; use holds of test/support/property.ts',
  },
  { folders: CODE, code: true, pattern: /[:<|]\s*any\b(?!\()|\bas any\b/, fault: 'the type any says nothing' },
  { folders: CODE, code: true, pattern: /\bas (?:unknown as|never)\b/, fault: 'a cast silences the type check' },
  { folders: CODE, pattern: /@ts-(?:ignore|expect-error|nocheck)/, fault: 'a type error is silenced' },
  { folders: CODE, pattern: /biome-ignore/, fault: 'a lint rule is silenced' },
]

const MAX_FUNCTION = 70
/** The folders whose functions are counted. Biome counts those of `src`, but no lines of JSX. */
const COUNTED = /^(?:client|bench|scripts|web\/src)\//
/** The first line of a function, as the format writes it. */
const BEGIN = new RegExp(
  '^ *(?:export )?(?:default )?(?:' +
    '(?:async )?function\\b|' +
    'const \\w+.* = (?:async )?(?:<.*>)?\\(|' +
    '(?:(?:static|async|get|set) |\\*)*(?!(?:if|for|while|switch|catch|super|catalog)\\b)#?\\w+(?:<.*>)?\\(.*[{(]$)',
)

/** This file, which contains the patterns. */
const THIS_FILE = 'scripts/check-tests.ts'

const files = filesOf(...CODE.map((folder) => `${folder}/**/*.{ts,tsx,js,mjs}`)).filter((file) => file !== THIS_FILE)
report(
  files.flatMap((file) => faultsOf(file, readFileSync(join(ROOT, file), 'utf8').split('\n'))),
  `${files.length} files of code keep to the rules`,
)

function faultsOf(file: string, lines: readonly string[]): string[] {
  const rules = RULES.filter(({ folders }) => folders.some((folder) => file.startsWith(`${folder}/`)))
  const faults = lines.flatMap((line, i) =>
    rules
      .filter(({ pattern, code }) => pattern.test(code === true ? withoutComment(line) : line))
      .map(({ fault }) => `${file}:${i + 1}: ${fault}`),
  )
  if (lines.length - 1 > MAX_LINES && !/^\/\/ Longer than \d+ lines because /.test(lines[0] ?? '')) {
    const form = `"// Longer than ${MAX_LINES} lines because …"`
    faults.push(`${file}: has ${lines.length - 1} lines; divide it, or give the reason in its first line: ${form}`)
  }
  if (COUNTED.test(file)) faults.push(...longFunctions(file, lines))
  return faults
}

/** The format gives the first and the last line of a function the same indentation, and more to those between. */
function longFunctions(file: string, lines: readonly string[]): string[] {
  const indentOf = (line: string) => line.length - line.trimStart().length
  return lines.flatMap((line, begin) => {
    if (!BEGIN.test(line)) return []
    const indent = indentOf(line)
    const isEnd = (each: string) => indentOf(each) === indent && /^ *[)}\]]/.test(each)
    const after = lines.findIndex((each, i) => i > begin && each !== '' && indentOf(each) <= indent && !isEnd(each))
    const end = lines.slice(0, after === -1 ? lines.length : after).findLastIndex(isEnd)
    const length = end - begin + 1
    return length > MAX_FUNCTION ? [`${file}:${begin + 1}: has a function of ${length} lines; divide it`] : []
  })
}

/** Removes the comment of a line, and the rest of a string with two slashes. */
function withoutComment(line: string): string {
  return line.replace(/^\s*\/?\*.*|\/\/.*/, '')
}
