import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT } from '../../scripts/repository.ts'
import { ERRORS } from '../../src/domain/errors.ts'
import { cleanUp } from '../support/clean-up.ts'
import { freePort } from '../support/free-port.ts'
import { blockIn, blocksOf } from '../support/guide.ts'
import { follow, heredoc, type Reader, succeed } from '../support/guide-reader.ts'
import { hasNginx, nginxOf, readGuide, startNginx } from '../support/nginx.ts'
import { notTestedHere, runs } from '../support/not-tested.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { SECRET, withService } from '../support/service.ts'

/** Blocks of all guides together that the test may leave out. */
const MOST_NOT_RUN = 8

/** Lines that install the client in the folder, as its page says. */
const CLIENT = `mkdir -p node_modules/plantstore-client
cp -R "${ROOT}client/package.json" "${ROOT}client/dist" node_modules/plantstore-client/
`
const FIRST_TOKEN = '$(cat data/plants.db.first-token)'
const STARTED = `start-service > /dev/null; TOKEN=${FIRST_TOKEN}\n`

const CREATE = `curl -s http://127.0.0.1:8080/plants -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d`

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

/** A test that follows a page. @param next checks its output */
function followTest(
  page: string,
  reader: Reader | ((t: TestContext) => Promise<Reader>) = {},
  next: (stdout: string, t: TestContext) => void | Promise<void> = () => {},
): void {
  FOLLOWED.push(page)
  guideTest(`every line of ${page} works, in order`, async (t) => {
    await next(await follow(t, page, typeof reader === 'function' ? await reader(t) : reader), t)
  })
}

followTest('README.md', { own: { 'ps_...': FIRST_TOKEN } })

followTest('docs/guides/programs.md', {
  before: STARTED,
  own: { tok_LNST1gxBBFl: "$(npx plantstore token list | awk '/label/ { print $1 }')" },
})

followTest('docs/guides/people.md', {}, (stdout) => assert.match(stdout, /^ {2}Page {5}http:\/\/127\.0\.0\.1:\d+\/$/m))

followTest('docs/guides/https.md', {
  own: {
    'plants.home.arpa': 'localhost',
    '192.168.1.20': '127.0.0.1',
    'plants.home.arpa:8080/': 'localhost:$PLANTSTORE_PORT/',
  },
})

test('When something is wrong says who has to act on each error number', () => {
  const page = readFileSync(join(ROOT, 'docs/guides/trouble.md'), 'utf8')
  const rows = page.matchAll(/^\| ((?:\d{5}(?:, )?)+) \|/gm)
  const named = [...rows].flatMap(([, numbers = '']) => numbers.split(', '))
  assert.deepEqual(named.toSorted(), Object.keys(ERRORS).toSorted())
})

followTest('docs/guides/using-the-api.md', {
  before: `${STARTED}${CREATE} '{"id":1,"name":"Monstera deliciosa","tag":"houseplant"}'
${CREATE} '{"id":2,"name":"Ficus lyrata","tag":"houseplant"}'
${CREATE} '{"id":3,"name":"Café-Baum","tag":"crop"}'
${CREATE} '{"id":4,"name":"Ginkgo biloba"}'`,
  own: { 'ps_...': '$TOKEN' },
})

const FOLLOW = 'docs/guides/follow-the-changes.md'

followTest(FOLLOW, {
  before: `${STARTED}${CREATE} '{"id":2,"name":"Ficus lyrata","tag":"houseplant"}'`,
  own: { 'ps_...': '$TOKEN' },
})

followTest('docs/guides/agents.md')

followTest('docs/guides/who-may-see.md', {}, (stdout) => {
  const [found = ''] = /^\{.*"jsonrpc".*$/m.exec(stdout) ?? []
  assert.match(found, /Aloe/)
  assert.doesNotMatch(found, /Ficus|Victoria|Ginkgo/)
})

followTest('docs/guides/webhooks.md', {
  own: {
    'npm start': 'start-service',
    'ps_...': FIRST_TOKEN,
    whk_3kTmX0aBcDe: `$(curl "$URL/webhooks" -H "$AUTH" | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
  },
})

/** A test of a program that follows the changes and prints a plant that is created and deleted. */
function followerTest(language: string, command: string, program: string, prints: string): void {
  guideTest(
    `the program of Follow the changes in ${language} prints each change`,
    async (t) => {
      const script = `${program}export PLANTSTORE_TOKEN=$TOKEN URL=http://127.0.0.1:8080
${command} > changes.txt 2>&1 & echo $! >> services
AUTH="Authorization: Bearer $TOKEN"
curl -s "$URL/plants" -H "$AUTH" -H "Content-Type: application/json" -d '{"id":9007199254740993,"name":"Aloe"}'
curl -s -X DELETE "$URL/plants/9007199254740993" -H "$AUTH"
for i in $(seq 600); do [ $(grep -c 9007199254740993 changes.txt) = 2 ] && break; sleep 0.1; done
cat changes.txt`
      assert.ok((await succeed(t, script, { before: `set -e\n${STARTED}` })).endsWith(prints))
    },
    command.split(' ')[0],
  )
}

followerTest(
  'Python',
  'python3 follow.py',
  heredoc('follow.py', blockIn(FOLLOW, 'python')),
  "plant.created {'id': 9007199254740993, 'name': 'Aloe'}\nplant.deleted {'id': 9007199254740993, 'name': 'Aloe'}\n",
)

followerTest(
  'JavaScript',
  'node follow.mjs',
  CLIENT +
    heredoc(
      'follow.mjs',
      `const readPosition = async () => undefined
const put = async ({ id, name }) => console.log('put', id, name)
const remove = async (id) => console.log('remove', id)
const keepPosition = async () => {}
${blockIn(FOLLOW, 'js')}`,
    ),
  'put 9007199254740993n Aloe\nremove 9007199254740993n\n',
)

const IMPORT = 'docs/guides/import-and-export.md'

followTest(IMPORT, {
  before: `${STARTED}PLANTSTORE_STORE=sqlite:other.db start-other-service > /dev/null
OTHER_TOKEN=$(cat other.db.first-token)
${heredoc('spring.csv', blockIn(IMPORT, 'csv'))}${heredoc('made.ndjson', '{"id":901,"name":"made"}\n')}`,
})

followTest('docs/guides/one-step-back.md', {
  before: heredoc('spring.csv', blockIn(IMPORT, 'csv').replace('1O4', '104')),
})

const CLIENTS = 'docs/guides/writing-clients.md'
const KEPT = `${STARTED}export PLANTSTORE_TOKEN=$TOKEN\n`
/** Of Node.js 22 and newer, which the page asks for. */
const NODE = `"${process.execPath}"`

guideTest(
  'the clients of the guides work, in JavaScript and Python',
  async (t) => {
    const [ready = '', ...own] = blocksOf(CLIENTS)
      .filter(({ language }) => language === 'js')
      .map(({ text }) => text)
    const printed = await succeed(
      t,
      `${CLIENT}${heredoc('ready.mjs', ready)}node ready.mjs
${heredoc('create.mjs', own.join('\n'))}${NODE} create.mjs
${heredoc('create.py', blockIn(CLIENTS, 'python'))}python3 create.py`,
      { before: KEPT },
    )
    const shown = blocksOf(CLIENTS).find(({ language }) => language === 'python')?.prints ?? assert.fail()
    const welwitschia = '9223372036854775807n Welwitschia mirabilis\n'
    assert.equal(printed, `${welwitschia}${shown}`)
  },
  'python3',
)

guideTest(
  'the lines of the guide in Java create a plant',
  async (t) => {
    const program = `import java.net.URI;
import java.net.http.*;
import java.time.Duration;
class Create {
  public static void main(String[] args) throws Exception {
${blockIn(CLIENTS, 'java')}System.out.println(response.statusCode() + " " + response.headers().firstValue("Content-Location").get());
  }
}
`
    const printed = await succeed(t, `${heredoc('Create.java', program)}java Create.java`, { before: KEPT })
    assert.equal(printed, '200 /plants/-9223372036854775808\n')
  },
  'javac',
)

followTest(CLIENTS, { before: KEPT })

const SETTING_UP = 'docs/guides/setting-up.md'

followTest(SETTING_UP, { before: 'mkdir state', isServiceUser: true })

test('a service behind nginx, as in Setting up a service, gets and gives plants', async (t) => {
  if (!hasNginx()) return notTestedHere(t, 'a service behind nginx, because there is no nginx')
  const service = await withService(t, { trustedProxies: '127.0.0.1' })
  const [plain, own] = [await freePort(), await freePort()]
  const servers = nginxOf(readGuide('setting-up'), {
    'server 127.0.0.1:8080;': `server 127.0.0.1:${service.port};`,
    'listen 80;': `listen 127.0.0.1:${plain};`,
    'listen 443 ssl;': `listen 127.0.0.1:${own};`,
    'ssl_certificate /etc/ssl/plants.example.pem;': '',
    'ssl_certificate_key /etc/ssl/plants.example.key;': '',
  })
  const proxy = await startNginx(t, servers, own)
  const headers = { Authorization: `Bearer ${SECRET}`, 'Content-Type': 'application/x-ndjson' }
  const imported = await fetch(`${proxy}/plants/import`, { method: 'POST', headers, body: '{"id":7,"name":"Aloe"}\n' })
  assert.partialDeepStrictEqual(await imported.json(), { added: 1, refused: 0 })
  assert.equal((await service.send('GET', '/plants/7')).status, 200)
  const exported = await fetch(`${proxy}/plants/export`, { headers })
  assert.equal(await exported.text(), '{"id":7,"name":"Aloe"}\n')
  const redirected = await fetch(`http://127.0.0.1:${plain}/docs`, { redirect: 'manual' })
  assert.equal(redirected.headers.get('Location'), 'https://127.0.0.1/docs')
})

const SCALE_OUT = 'docs/guides/scale-out.md'
const TOKEN_CREATE = '/opt/plantstore/bin/plantstore token create --name x --store sqlite:/var/lib/plantstore/plants.db'

const BACKUP = 'docs/guides/backup-and-restore.md'
const BEFORE_BACKUP = { before: `mkdir state backup\n${TOKEN_CREATE}`, isServiceUser: true } as const

followTest(BACKUP, BEFORE_BACKUP, async (_stdout, t) => {
  const blocks = blocksOf(BACKUP)
  const restore = blocks.find(({ text }) => text.includes('with the service stopped')) ?? assert.fail()
  const lines = blocks.filter(({ language, notRun }) => language === 'sh' && notRun === undefined)
  const twice = `${lines.map(({ text }) => text).join('')}${restore.text}ls state | grep -c 'replaced-[0-9TZ-]*$'`
  assert.match(await succeed(t, twice, BEFORE_BACKUP), /\n2\n$/)
})

followTest(SCALE_OUT, async (t) => {
  const [role, password] = [`plantstore_${randomBytes(6).toString('hex')}`, randomBytes(16).toString('hex')]
  const server = await newDatabase(t)
  const statements = blockIn(SCALE_OUT, 'sql').replaceAll('plantstore', role).replaceAll('plants ', `${role} `)
  for (const statement of statements.replace('…', password).split(';')) await query(server, statement)
  cleanUp(t, async () => {
    await query(server, `DROP DATABASE ${role} WITH (FORCE)`)
    await query(server, `DROP ROLE ${role}`)
  })
  const database = new URL(server)
  Object.assign(database, { username: role, password: '', pathname: role })
  const own = {
    'postgres://plantstore@db.example:5432/plants?sslmode=verify-full': database.href,
    'postgres://plantstore@db.example/plants': database.href,
    'PGPASSWORD=…': `PGPASSWORD='${password}'`,
  }
  return { before: `mkdir state\n${TOKEN_CREATE}`, own, isServiceUser: true }
})

/** Programs and configurations in the pages, and the files of tests that run them. */
const RUN_BY: Readonly<Record<string, string>> = {
  [`${FOLLOW} js`]: 'guides.test.ts',
  [`${FOLLOW} python`]: 'guides.test.ts',
  [`${CLIENTS} js`]: 'guides.test.ts',
  [`${CLIENTS} python`]: 'guides.test.ts',
  [`${CLIENTS} java`]: 'guides.test.ts',
  [`${SCALE_OUT} sql`]: 'guides.test.ts',
  [`${SCALE_OUT} nginx`]: 'postgres-instances.test.ts',
  'docs/guides/webhooks.md js': 'webhooks/guide.test.ts',
  'docs/guides/webhooks.md python': 'webhooks/guide.test.ts',
  [`${BACKUP} bash`]: 'upkeep/scheduled-backups.test.ts',
  'docs/guides/below-a-path.md nginx': 'packages/below-path.check.ts',
  [`${SETTING_UP} nginx`]: 'guides.test.ts',
}
/** What a reader looks at or copies into a file, and no machine runs. */
const SHOWN: readonly string[] = ['csv', 'http', 'ini', 'json', 'text', 'yaml']

test('each block of the documentation is run, or has a reason in its page', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`)
  const blocks = ['README.md', ...pages].flatMap((page) => blocksOf(page).map((block) => ({ page, ...block })))
  const unrun = blocks.filter(({ page, language, notRun }) => {
    if (notRun !== undefined || SHOWN.includes(language)) return false
    return language === 'sh' ? !FOLLOWED.includes(page) : RUN_BY[`${page} ${language}`] === undefined
  })
  const found = unrun.map(({ page, line, language }) => `${page}:${line} ${language}`)
  assert.deepEqual(found, [])
  for (const [block, file] of Object.entries(RUN_BY)) {
    const [page = '', language = ''] = block.split(' ')
    assert.notEqual(blockIn(page, language), '', `there is no ${block}`)
    const name = page.slice(page.lastIndexOf('/') + 1, -'.md'.length)
    assert.ok(readFileSync(join(import.meta.dirname, file), 'utf8').includes(name), `${file} has no ${name}`)
  }
  // Checks of packages run the lines of one of them as far as it goes, and hold the manifests of the other.
  const elsewhere = ['docs/guides/installing.md', 'docs/guides/kubernetes.md']
  const left = blocks.filter(({ page, notRun }) => notRun !== undefined && !elsewhere.includes(page))
  assert.ok(left.length <= MOST_NOT_RUN, left.map(({ text }) => text).join('\n'))
})
