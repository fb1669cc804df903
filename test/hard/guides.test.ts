import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ERRORS } from '../../src/domain/errors.ts'
import { cleanUp } from '../support/clean-up.ts'
import { tempFolder } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'
import { type Block, blockIn, blocksOf } from '../support/guide.ts'
import { notTestedHere, runs } from '../support/not-tested.ts'
import { newDatabase } from '../support/postgres.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '')
/** Blocks of all guides together that the test may leave out. */
const MOST_NOT_RUN = 5

interface Reader {
  /** The lines that the reader runs before the page. */
  readonly before?: string
  /** The placeholders of the page, and their values in the test. */
  readonly own?: Readonly<Record<string, string>>
  /** A service user has no home, so npx, which needs one, does not work. */
  readonly isServiceUser?: true
}

/**
 * Follows a page: runs the lines of its shell blocks in order, in one shell and one folder. A service runs in the
 * background, as in a terminal of its own, until the test ends.
 *
 * @returns their output
 */
async function follow(t: TestContext, page: string, reader: Reader): Promise<string> {
  const blocks = blocksOf(page).filter(({ language }) => language === 'sh')
  const script = blocks.map((block, i) =>
    block.notRun === undefined ? `echo; echo "@begin ${i}"\n${block.text}\necho; echo "@end ${i} $?"` : '',
  )
  const stdout = await runAsReader(t, script.join('\n'), reader)
  for (const [i, block] of blocks.entries()) if (block.notRun === undefined) check(page, block, i, stdout)
  return stdout
}

/** Runs lines in a new folder, with a free port instead of 8080. @returns their output */
async function runAsReader(
  t: TestContext,
  script: string,
  { before = '', own = {}, isServiceUser }: Reader,
): Promise<string> {
  const [folder, port, otherPort] = [tempFolder(t), await freePort(), await freePort()]
  const commands = join(folder, 'commands')
  mkdirSync(commands)
  // Its progress would be in the middle of its output.
  writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\n')
  for (const [name, script] of Object.entries(scripts(folder, isServiceUser === true))) {
    writeFileSync(join(commands, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(commands, name), 0o755)
  }
  const replaced: Readonly<Record<string, string>> = {
    'npm ci && npm start': 'start-service',
    '/opt/plantstore/bin/plantstore serve': 'start-service',
    '/opt/plantstore': ROOT,
    '/var/lib/plantstore': `${folder}/state`,
    '/backup': `${folder}/backup`,
    '127.0.0.1:8080': `127.0.0.1:${port}`,
    '127.0.0.1:9090': `127.0.0.1:${otherPort}`,
    ...own,
  }
  const here = replaceAll(`${before}\n${script}`, replaced)
  cleanUp(t, () => stopServices(folder))
  const { stdout, code } = await shell(here, folder, {
    PATH: `${commands}:${process.env['PATH']}`,
    HOME: isServiceUser === true ? join(folder, 'no-home') : folder,
    CURL_HOME: folder,
    PLANTSTORE_PORT: String(port),
    OTHER_PORT: String(otherPort),
  })
  assert.equal(code, 0, stdout)
  return stdout
}

/** In one go, and never inside a name: the folder of the project may itself be called backup. */
function replaceAll(text: string, replaced: Readonly<Record<string, string>>): string {
  const longestFirst = Object.keys(replaced).sort((a, b) => b.length - a.length)
  const pattern = new RegExp(`(?<!\\w)(?:${longestFirst.map((each) => RegExp.escape(each)).join('|')})`, 'g')
  return text.replace(pattern, (found) => replaced[found] ?? found)
}

/** Checks that the output of a block has all lines of the page, except for parts that vary. */
function check(page: string, { line, prints }: Block, i: number, stdout: string): void {
  const [, printed = '', code] = new RegExp(`^@begin ${i}\\n(.*)^@end ${i} (\\d+)$`, 'ms').exec(stdout) ?? []
  const where = `${page}:${line}:\n${printed}`
  assert.equal(code, '0', where)
  const shown =
    prints?.split('\n').filter((each) => /^(?:[{[]|HTTP\/|ETag: |Link: |line \d+: |Some rows )/.test(each)) ?? []
  const unfolded = printed.replaceAll('\r', '')
  for (const each of shown) assert.ok(unfolded.includes(each), `${where}\nhas no ${each}`)
}

/** The commands that the lines of a guide find, beside those of the system. */
function scripts(folder: string, isServiceUser: boolean): Readonly<Record<string, string>> {
  const program = `"${process.execPath}" "${ROOT}/bin/plantstore.js"`
  const serve = (port: string) => `log=$(mktemp "${folder}/log-XXXXXX")
${program} serve --port ${port} > "$log" 2>&1 &
echo $! >> "${folder}/services"
until grep -q 'curl -X POST' "$log"; do kill -0 $! || { cat "$log"; exit 1; }; sleep 0.1; done
cat "$log"`
  return {
    'start-service': serve('"$PLANTSTORE_PORT"'),
    'start-other-service': serve('"$OTHER_PORT"'),
    // What npx does in the project's folder.
    ...(isServiceUser ? {} : { npx: `shift; exec ${program} "$@"` }),
    'make-plants': `cat "${folder}/made.ndjson"`,
  }
}

async function shell(script: string, cwd: string, env: Readonly<Record<string, string>>) {
  const child = spawn('sh', ['-s'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const closed = once(child, 'close')
  child.stdin.end(`exec 2>&1\n${script}\n`)
  const stdout = await text(child.stdout)
  const [code] = await closed
  return { stdout, code: code as number | null }
}

async function stopServices(folder: string): Promise<void> {
  const list = join(folder, 'services')
  const ids = existsSync(list) ? readFileSync(list, 'utf8').trim().split('\n').map(Number) : []
  for (const id of ids) if (isRunning(id)) process.kill(id, 'SIGKILL')
  while (ids.some(isRunning)) await sleep(20)
}

function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0)
  } catch {
    return false
  }
}

const heredoc = (file: string, content: string): string => `cat > ${file} <<'END'\n${content}\nEND\n`

const FIRST_TOKEN = '$(cat data/plants.db.first-token)'
const STARTED = `start-service > /dev/null; TOKEN=${FIRST_TOKEN}\n`

/** A test that needs curl, and perhaps another command. */
function guideTest(title: string, work: (t: TestContext) => Promise<void>, command = 'curl'): void {
  test(title, async (t) => {
    for (const each of new Set(['curl', command])) {
      if (!runs(each, '--version')) return notTestedHere(t, `${title}, because there is no ${each}`)
    }
    await work(t)
  })
}

/** The pages whose shell blocks are run, each as a whole. The tests of the packages run this one. */
const FOLLOWED = ['docs/guides/installing.md']

/** A test that follows a page. */
function followTest(
  title: string,
  page: string,
  readerOf: (t: TestContext) => Reader | Promise<Reader>,
  next: (t: TestContext, reader: Reader, stdout: string) => void | Promise<void> = () => {},
): void {
  FOLLOWED.push(page)
  guideTest(title, async (t) => {
    const reader = await readerOf(t)
    await next(t, reader, await follow(t, page, reader))
  })
}

followTest('every line of the README works, in order', 'README.md', () => ({ own: { 'ps_...': FIRST_TOKEN } }))

followTest('every line of First steps works, in order', 'docs/guides/first-steps.md', () => ({
  own: { 'ps_...': FIRST_TOKEN, tok_LNST1gxBBFl: "$(npx plantstore token list | awk '/label/ { print $1 }')" },
}))

followTest(
  'the first line of First ten minutes starts a service that prints the address of its page',
  'docs/guides/first-ten-minutes.md',
  () => ({}),
  (_t, _reader, stdout) => assert.match(stdout, /^ {2}Page {5}http:\/\/127\.0\.0\.1:\d+\/$/m),
)

followTest(
  'every line of The first hour works, in order, for a user without a home',
  'docs/guides/first-hour.md',
  () => ({ before: 'mkdir state backup', isServiceUser: true }),
)

followTest('every line of HTTPS works, in order', 'docs/guides/https.md', () => ({
  own: {
    'plants.home.arpa': 'localhost',
    '192.168.1.20': '127.0.0.1',
    'plants.home.arpa:8080/': 'localhost:$PLANTSTORE_PORT/',
  },
}))

test('The first hour says who has to act on each error number', () => {
  const page = readFileSync(join(ROOT, 'docs/guides/first-hour.md'), 'utf8')
  const rows = page.matchAll(/^\| ((?:\d{5}(?:, )?)+) \|/gm)
  const named = [...rows].flatMap(([, numbers = '']) => numbers.split(', '))
  assert.deepEqual(named.toSorted(), Object.keys(ERRORS).toSorted())
})

followTest('every line of Using the API works, in order', 'docs/guides/using-the-api.md', () => {
  const plants = [
    '{"id":1,"name":"Monstera deliciosa","tag":"houseplant"}',
    '{"id":2,"name":"Ficus lyrata","tag":"houseplant"}',
    '{"id":3,"name":"Café-Baum","tag":"crop"}',
    '{"id":4,"name":"Ginkgo biloba"}',
  ]
  const create = `curl -s http://127.0.0.1:8080/plants -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d`
  const before = STARTED + plants.map((plant) => `${create} '${plant}'`).join('\n')
  return { before, own: { 'ps_...': '$TOKEN' } }
})

followTest('every line of Follow the changes works, in order', 'docs/guides/follow-the-changes.md', () => {
  const create = `curl -s http://127.0.0.1:8080/plants -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d`
  const before = `${STARTED}${create} '{"id":2,"name":"Ficus lyrata","tag":"houseplant"}'`
  return { before, own: { 'ps_...': '$TOKEN' } }
})

followTest('every line of Receive your first webhook works, in order', 'docs/guides/webhooks.md', () => ({
  own: {
    'npm start': 'start-service',
    'ps_...': FIRST_TOKEN,
    whk_3kTmX0aBcDe: `$(curl "$URL/webhooks" -H "$AUTH" | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
  },
}))

guideTest(
  'the program of Follow the changes in Python prints each change',
  async (t) => {
    const program = heredoc('follow.py', blockIn('docs/guides/follow-the-changes.md', 'python'))
    const script = `${program}export PLANTSTORE_TOKEN=$TOKEN URL=http://127.0.0.1:8080
python3 follow.py > changes.txt 2>&1 & echo $! >> services
AUTH="Authorization: Bearer $TOKEN"
curl -s "$URL/plants" -H "$AUTH" -H "Content-Type: application/json" -d '{"id":9007199254740993,"name":"Aloe"}'
curl -s -X DELETE "$URL/plants/9007199254740993" -H "$AUTH"
until grep -q deleted changes.txt; do sleep 0.1; done
cat changes.txt`
    const stdout = await runAsReader(t, script, { before: STARTED })
    const plant = "{'id': 9007199254740993, 'name': 'Aloe'}"
    assert.match(stdout, new RegExp(`plant\\.created ${plant}\nplant\\.deleted ${plant}`))
  },
  'python3',
)

followTest('every line of Import and export works, in order', 'docs/guides/import-and-export.md', () => {
  const other = 'PLANTSTORE_STORE=sqlite:other.db start-other-service > /dev/null\n'
  const before = `${STARTED}${other}OTHER_TOKEN=$(cat other.db.first-token)
${heredoc('spring.csv', blockIn('docs/guides/import-and-export.md', 'csv'))}${heredoc('made.ndjson', '{"id":901,"name":"made"}\n')}`
  return { before }
})

guideTest(
  'the clients of the guides work, in JavaScript and Python',
  async (t) => {
    const page = 'docs/guides/writing-clients.md'
    const scripts = blocksOf(page).filter(({ language }) => language === 'js')
    const list = `${blockIn('docs/guides/using-the-api.md', 'js')}
const access = { url: 'http://127.0.0.1:8080', token: process.env.PLANTSTORE_TOKEN }
for await (const { id, name } of listPlants({ limit: 1 }, access)) console.log(id, name)`
    const printed = await runAsReader(
      t,
      `export PLANTSTORE_TOKEN=$TOKEN
${heredoc('create.mjs', scripts.map(({ text }) => text).join('\n'))}"${process.execPath}" create.mjs
${heredoc('create.py', blockIn(page, 'python'))}python3 create.py
${heredoc('list.mjs', list)}"${process.execPath}" list.mjs`,
      { before: STARTED },
    )
    const shown = blocksOf(page).find(({ language }) => language === 'python')?.prints ?? assert.fail()
    const listed = '9223372036854775806n Ginkgo biloba\n9223372036854775807n Welwitschia mirabilis\n'
    assert.equal(printed, `${shown}${listed}`)
  },
  'python3',
)

followTest('every shell line of Writing clients works, in order', 'docs/guides/writing-clients.md', () => ({
  before: `${STARTED}export PLANTSTORE_TOKEN=$TOKEN\n`,
}))

followTest(
  'every line of Setting up a service works, in order, for a user without a home',
  'docs/guides/setting-up.md',
  () => ({
    before: 'mkdir state',
    isServiceUser: true,
  }),
)

const TOKEN_CREATE = '/opt/plantstore/bin/plantstore token create --name x --store sqlite:/var/lib/plantstore/plants.db'

followTest(
  'every line of Backup and restore works, in order, and again, for a user without a home',
  'docs/guides/backup-and-restore.md',
  () => ({ before: `mkdir state backup\n${TOKEN_CREATE}`, isServiceUser: true }),
  async (t, reader) => {
    const blocks = blocksOf('docs/guides/backup-and-restore.md')
    const restore = blocks.find(({ text }) => text.includes('with the service stopped')) ?? assert.fail()
    const lines = blocks.filter(({ language, notRun }) => language === 'sh' && notRun === undefined)
    const twice = `set -e\n${lines.map(({ text }) => text).join('')}${restore.text}ls state | grep -c 'replaced-[0-9TZ-]*$'`
    assert.match(await runAsReader(t, twice, reader), /\n2\n$/)
  },
)

followTest(
  'every line of Several instances on PostgreSQL works, in order, for a user without a home',
  'docs/guides/scale-out.md',
  async (t) => {
    const database = new URL(await newDatabase((work) => cleanUp(t, work)))
    const password = decodeURIComponent(database.password)
    database.password = ''
    const own = {
      'postgres://plantstore@db.example:5432/plants?sslmode=verify-full': database.href,
      'postgres://plantstore@db.example/plants': database.href,
      'PGPASSWORD=…': `PGPASSWORD='${password}'`,
    }
    return { before: `mkdir state\n${TOKEN_CREATE}`, own, isServiceUser: true }
  },
)

test('each block of the documentation is run, or has a reason in its page', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`)
  const blocks = ['README.md', ...pages].flatMap((page) => blocksOf(page).map((block) => ({ page, ...block })))
  const unrun = blocks.filter(
    ({ page, language, notRun }) => language === 'sh' && notRun === undefined && !FOLLOWED.includes(page),
  )
  assert.deepEqual(
    unrun.map(({ page, line }) => `${page}:${line}`),
    [],
  )
  // Checks of packages run the lines of one of them as far as it goes, and hold the manifests of the other.
  const elsewhere = ['docs/guides/installing.md', 'docs/guides/kubernetes.md']
  const left = blocks.filter(({ page, notRun }) => notRun !== undefined && !elsewhere.includes(page))
  assert.ok(left.length <= MOST_NOT_RUN, left.map(({ text }) => text).join('\n'))
})
