// `node scripts/check-clients.ts [NAME]`: generates a client from the contract with each of the well-known generators,
// compiles it, and makes the calls of CALLS with it against a running service. Fails where the result differs from
// client-generators.ts, from which `npm run generate` makes the table of docs/guides/writing-clients.md. A job of CI runs
// it: it installs the generators into a temporary folder, takes some 20 minutes, and needs npm, Python, Go, Java, Maven
// and Rust.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { contractWithTextIds } from '../src/http/request/text-ids.ts'
import { CALLS, type ClientGenerator, type Command, GENERATORS } from './client-generators.ts'
import { compiledOperations, readSource } from './contract-source.ts'
import { ROOT } from './repository.ts'

const TOKEN = 'the-configured-secret-of-the-check'
const document = readSource()
const operations = compiledOperations(document)
const folder = mkdtempSync(join(tmpdir(), 'plantstore-clients-'))
const specs = { number: join(folder, 'number.json'), text: join(folder, 'text.json') }
const wanted = process.argv[2] ?? ''
const chosen = GENERATORS.filter(({ name }) => name.includes(wanted))
let faults = 0
try {
  writeFileSync(specs.number, JSON.stringify(document))
  writeFileSync(specs.text, JSON.stringify(contractWithTextIds(document)))
  for (const [i, generator] of chosen.entries()) {
    const dir = join(folder, String(i))
    const found = await faultsOf(generator, dir)
    faults += found.length
    console.log(`${found.length === 0 ? 'ok     ' : 'FAILED '} ${generator.language}: ${generator.name}`)
    for (const fault of found) console.log(`        ${fault}`)
    remove(dir)
  }
} finally {
  remove(folder)
}
if (faults > 0 || chosen.length === 0) process.exitCode = 1

/** Go writes read-only files, which rmSync cannot remove. */
function remove(path: string): void {
  spawnSync('chmod', ['-R', 'u+w', path])
  rmSync(path, { recursive: true, force: true })
}

async function faultsOf(generator: ClientGenerator, dir: string): Promise<string[]> {
  const { ids, install, generate, build, run } = generator
  const out = join(dir, 'client')
  mkdirSync(out, { recursive: true })
  const parts = { dir, out, spec: specs[ids], programs: join(ROOT, 'scripts/clients'), root: ROOT }
  const filled = (command: Command) =>
    command.map((text) =>
      text.replaceAll(/\{(\w+)\}/g, (all, name: string) => parts[name as keyof typeof parts] ?? all),
    )
  for (const command of [...install, generate]) {
    const failure = failureOf(filled(command), dir)
    if (failure !== undefined) return [failure]
  }
  const missing = faultsOfSource(generator, out)
  for (const command of build) {
    const failure = failureOf(filled(command), dir)
    if (failure !== undefined) return [...missing, failure]
  }
  return [...missing, ...(await faultsOfCalls(generator, filled(run), dir))]
}

/** Compares the names in the source of a client with the operations of the contract. */
function faultsOfSource({ id, leavesOut }: ClientGenerator, out: string): string[] {
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

/** Makes the calls of a client against a service with an empty store. */
async function faultsOfCalls(
  { cannot }: ClientGenerator,
  [command = '', ...args]: string[],
  dir: string,
): Promise<string[]> {
  const { service, url } = await startService(dir)
  const env = { ...process.env, PLANTSTORE_URL: url, PLANTSTORE_TOKEN: TOKEN }
  const { stdout, stderr } = spawnSync(command, args, { cwd: dir, encoding: 'utf8', env, timeout: 60_000 })
  service.kill()
  // Its end writes files in the folder, which is removed next.
  await once(service, 'exit')
  const results = new Map(stdout.split('\n').map((line) => line.split(/: (.*)/, 2) as [string, string]))
  return CALLS.flatMap((call) => {
    const result = results.get(call) ?? `prints nothing\n${stderr.slice(-1000)}`
    if ((result === 'ok') !== (cannot[call] === undefined)) return [`${call}: ${result}`]
    return []
  })
}

/** Starts a service of this tree, and waits until it says that it serves. */
async function startService(data: string): Promise<{ service: ChildProcess; url: string }> {
  const args = ['bin/plantstore.js', 'serve', '--store', `sqlite:${join(data, 'plants.db')}`, '--port', '0']
  const service = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, PLANTSTORE_TOKEN: TOKEN },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  for await (const line of createInterface({ input: service.stderr })) {
    const port = line.includes('"msg":"serving"') ? /"port":(\d+)/.exec(line)?.[1] : undefined
    if (port === undefined) continue
    service.stderr.resume()
    return { service, url: `http://127.0.0.1:${port}` }
  }
  throw new Error('the service does not start')
}

/** Runs a command. Returns its failure; undefined where it succeeds. */
function failureOf([command = '', ...args]: readonly string[], cwd: string): string | undefined {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status === 0) return undefined
  return `${command} ${args[0]}: ${error?.message ?? `ended with ${status}`}\n${`${stdout}${stderr}`.slice(-2000)}`
}

/** The names in texts, in lower case and without underscores, so that createPlant equals create_plant. */
function wordsIn(texts: readonly string[]): Set<string> {
  const words = texts.flatMap((text) => text.match(/\w+/g) ?? [])
  return new Set(words.map((word) => word.replaceAll('_', '').toLowerCase()))
}

function filesIn(path: string): string[] {
  return readdirSync(path)
    .map((name) => join(path, name))
    .flatMap((each) => (statSync(each).isDirectory() ? filesIn(each) : [each]))
}
