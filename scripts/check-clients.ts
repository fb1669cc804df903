// `node scripts/check-clients.ts [NAME]`: generates a client from the contract with each of the well-known generators.
// Checks that it has all operations, and the type of an id. A job of CI runs it: it installs the generators into a temporary
// folder, takes minutes, and needs npm, Python, Go, Java and Maven. docs/guides/writing-clients.md has the results.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { readContract } from '../src/http/request/operations.ts'
import { type ClientGenerator, type Command, GENERATORS } from './client-generators.ts'

const { document, operations } = readContract()
const folder = mkdtempSync(join(tmpdir(), 'plantstore-clients-'))
const spec = join(folder, 'openapi.json')
try {
  writeFileSync(spec, JSON.stringify(document))
  const wanted = process.argv[2] ?? ''
  const chosen = GENERATORS.filter(({ name }) => name.includes(wanted))
  const faults = chosen.flatMap((generator, i) => {
    const found = faultsOf(generator, String(i))
    console.log(`${found.length === 0 ? 'ok     ' : 'FAILED '} ${generator.language}: ${generator.name}`)
    for (const fault of found) console.log(`        ${fault}`)
    return found
  })
  if (faults.length > 0 || chosen.length === 0) process.exitCode = 1
} finally {
  // Go writes read-only files, which rmSync cannot remove.
  spawnSync('chmod', ['-R', 'u+w', folder])
  rmSync(folder, { recursive: true, force: true })
}

function faultsOf({ install, generate, id, leavesOut }: ClientGenerator, name: string): string[] {
  const dir = join(folder, name)
  const out = join(folder, `${name}-client`)
  for (const made of [dir, out]) mkdirSync(made)
  for (const command of [...install, generate]) {
    const failure = failureOf(command, dir, out)
    if (failure !== undefined) return [failure]
  }
  const paths = filesIn(out)
  const texts = paths.map((path) => readFileSync(path, 'utf8'))
  const words = wordsIn([...texts, ...paths.map((path) => basename(path))])
  const missing = operations
    .map((operation) => operation.id)
    .filter((one) => !words.has(one.toLowerCase()) && !words.has(`${one.toLowerCase()}withbody`))
  return [
    ...(texts.some((text) => id.test(text)) ? [] : [`an id is not ${id} any more`]),
    ...missing.filter((one) => !leavesOut.includes(one)).map((one) => `${one} is left out`),
    ...leavesOut.filter((one) => !missing.includes(one)).map((one) => `${one} is there now`),
  ]
}

/** Runs a command. Returns its failure; undefined where it succeeds. */
function failureOf([command, ...args]: Command, dir: string, out: string): string | undefined {
  const filled = (text: string) => text.replaceAll('{dir}', dir).replaceAll('{spec}', spec).replaceAll('{out}', out)
  const { status, error, stdout, stderr } = spawnSync(filled(command), args.map(filled), { cwd: dir, encoding: 'utf8' })
  if (status === 0) return undefined
  return `${filled(command)}: ${error?.message ?? `ended with ${status}`}\n${`${stdout}${stderr}`.slice(-2000)}`
}

/** The names in texts, in lower case and without underscores, so that createPlant equals create_plant. */
function wordsIn(texts: readonly string[]): Set<string> {
  const words = texts.flatMap((text) => text.match(/\w+/g) ?? [])
  return new Set(words.map((word) => word.replaceAll('_', '').toLowerCase()))
}

function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]))
}
