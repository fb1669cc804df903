import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { chmodSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { connect, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import pino from 'pino'
import { PlantstoreClient } from '../../../client/src/index.ts'
import { OperatorError } from '../../../src/base/operator-error.ts'
import { Certificate } from '../../../src/cli/certificate.ts'
import { makeCertificate } from '../../support/certificates.ts'
import { tempFolder } from '../../support/files.ts'
import { send } from '../../support/load.ts'
import { run, startServer, TOKEN } from '../../support/process.ts'
import { scrapeAt } from '../../support/scrape.ts'
import { writePair } from '../../support/transport.ts'
import { happens, until } from '../../support/until.ts'

const first = await makeCertificate()
const second = await makeCertificate({ algorithm: 'RSA' })
setDefaultCACertificates([first.authority, second.authority])
const DAY = 86_400_000

const serialOf = (pem: string): string => new X509Certificate(pem).serialNumber

/** Opens a connection that stays open. */
async function opened(address: string): Promise<TLSSocket> {
  const socket = connect({ port: Number(new URL(address).port), host: '127.0.0.1' })
  await happens(socket, 'secureConnect', 'the handshake does not end')
  return socket
}

async function serialAt(address: string): Promise<string | undefined> {
  const socket = await opened(address)
  const certificate = socket.getPeerX509Certificate()
  socket.destroy()
  return certificate?.serialNumber
}

suite('the pair of a service is refused for', () => {
  type File = 'cert' | 'key'
  const write = (file: File, content: string) => (path: string) => writeFileSync(`${path}${file}.pem`, content)
  const remove = (file: File) => (path: string) => rmSync(`${path}${file}.pem`)
  const share = (path: string) => chmodSync(`${path}key.pem`, 0o644)
  const NOT_ITS_KEY = ': is not the key of the first certificate'
  const torn = `${first.cert}-----BEGIN CERTIFICATE-----\nMIIB\n`
  const cases: readonly (readonly [what: string, file: File, says: string, damage: (path: string) => void])[] = [
    ['a missing key', 'key', ': there is no such file', remove('key')],
    ['a missing certificate', 'cert', ': there is no such file', remove('cert')],
    ['a key that others can read', 'key', ' is accessible to other users', share],
    ['a pair that does not match', 'key', `${NOT_ITS_KEY} in \\S+cert\\.pem`, write('cert', second.cert)],
    ['a chain that begins with the authority', 'key', NOT_ITS_KEY, write('cert', first.authority + first.cert)],
    ['a certificate that is none', 'cert', ': has no certificate in PEM', write('cert', 'hello\n')],
    ['a damaged chain', 'cert', ': ', write('cert', torn)],
    ['a key that is none', 'key', ': has no private key in PEM', write('key', first.cert)],
  ]
  for (const [what, file, says, damage] of cases) {
    test(what, (t) => {
      const folder = tempFolder(t)
      writePair(folder, first)
      damage(join(folder, '/'))
      const message = new RegExp(`--tls-${file}: .*\\S+${file}\\.pem${says}`)
      const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
      const isClear = (error: unknown) =>
        error instanceof OperatorError && message.test(error.message) && !error.message.includes('PRIVATE KEY')
      assert.throws(() => new Certificate(files, pino({ level: 'silent' })), isClear)
    })
  }

  test('an expired certificate, before serve opens a store', async (t) => {
    const folder = tempFolder(t)
    const args = writePair(folder, await makeCertificate({ days: -1 }))
    const { code, stderr } = await run(t, ['serve', '--port', '0', ...args], { cwd: folder })
    assert.match(stderr, /^plantstore: --tls-cert: \S+cert\.pem: the certificate expired on 20\S+Z\n$/)
    assert.equal(code, 2)
    assert.deepEqual(readdirSync(folder).sort(), ['cert.pem', 'key.pem'])
  })
})

suite('a service with a certificate', () => {
  test('takes a changed pair over on SIGHUP for new connections, and a bad one never', async (t) => {
    const folder = tempFolder(t)
    const env = { PLANTSTORE_LOG_LEVEL: 'info' }
    const { program, address } = await startServer(t, folder, writePair(folder, first), { env })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    assert.match(address, /^https:\/\/127\.0\.0\.1:/)
    const create = (id: number) => send('POST', `${address}/plants`, { agent, body: JSON.stringify({ id, name: 'a' }) })
    assert.equal((await create(1)).status, 200)
    const [[used] = []] = Object.values(agent.freeSockets)

    writeFileSync(join(folder, 'cert.pem'), second.cert)
    program.signal('SIGHUP')
    await program.tells(/is not the key of the first certificate.*the present one stays/)
    assert.equal(await serialAt(address), serialOf(first.cert))
    program.signal('SIGHUP')
    const failures = async () => (await scrapeAt(address)).value('plantstore_tls_certificate_failures_total')
    await until(async () => (await failures()) === 2, 'the second failure is not counted')
    assert.equal(program.stderr.match(/the present one stays/g)?.length, 1, 'the same fault is logged once')

    writePair(folder, second)
    program.signal('SIGHUP')
    await program.tells(/new connections get the changed certificate/)
    assert.equal(await serialAt(address), serialOf(second.cert))
    assert.equal((await create(2)).status, 200)
    assert.equal(Object.values(agent.freeSockets)[0]?.[0], used, 'the open connection goes on')
    await program.ends()
  })

  test('answers the commands and the typed client over https, and they distrust an unknown authority', async (t) => {
    const folder = tempFolder(t)
    const { address } = await startServer(t, folder, writePair(folder, first))
    writeFileSync(join(folder, 'authority.pem'), first.authority)
    writeFileSync(join(folder, 'plants.csv'), 'id,name\n7,Monstera\n')
    const trusting = { cwd: folder, env: { PLANTSTORE_TOKEN: TOKEN, NODE_EXTRA_CA_CERTS: 'authority.pem' } }
    const url = ['--url', address.replace('127.0.0.1', 'localhost')]
    const results = [
      await run(t, ['import', 'plants.csv', ...url], trusting),
      await run(t, ['export', '-', '--format', 'csv', ...url], trusting),
      await run(t, ['status', ...url], trusting),
    ]
    for (const { code, stderr } of results) assert.equal(code, 0, stderr)
    assert.match(results[1]?.stdout ?? '', /7,Monstera/)
    const client = new PlantstoreClient({ url: address, token: TOKEN })
    assert.equal((await client.getPlant(7n)).plant.name, 'Monstera')

    const distrusting = { cwd: folder, env: { PLANTSTORE_TOKEN: TOKEN } }
    const { code, stderr } = await run(t, ['status', ...url], distrusting)
    assert.match(stderr, /its certificate is not trusted; NODE_EXTRA_CA_CERTS=FILE .*\([A-Z_]+\)\n$/)
    assert.equal(code, 1)
    const clear = await run(t, ['status', '--url', address.replace('https', 'http')], trusting)
    assert.match(clear.stderr, /answered 400: error 40004: .*use an address with https/)
  })
})

/** Runs a certificate with its own clock and log. */
function followed(t: TestContext, folder: string) {
  // Only the last minute of a step ticks: the mock would run each of its 1,440 intervals of a day.
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = Date.now()
  t.mock.method(Date, 'now', () => now)
  const lines: { level: number; msg: string }[] = []
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
  const used: string[] = []
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const certificate = new Certificate(files, log)
  certificate.follow(({ cert }) => used.push(serialOf(cert)))
  /** Moves the clock, and lets the service look at the files once at its end. */
  const pass = (milliseconds: number) => {
    now += milliseconds
    t.mock.timers.tick(60_000)
  }
  return { certificate, lines, used, pass }
}

suite('the files of a certificate', () => {
  test('are looked at once a minute', (t) => {
    const folder = tempFolder(t)
    writePair(folder, first)
    const { used, pass, certificate } = followed(t, folder)
    pass(60_000)
    assert.deepEqual(used, [], 'nothing changed')
    writeFileSync(join(folder, 'key.pem'), second.key.slice(0, 100))
    pass(60_000)
    rmSync(join(folder, 'key.pem'))
    pass(60_000)
    assert.deepEqual([used, certificate.failures], [[], 2])
    writePair(folder, second)
    pass(60_000)
    assert.deepEqual(used, [serialOf(second.cert)])
  })

  test('cause a warning a day from 14 days before the end on', async (t) => {
    const folder = tempFolder(t)
    writePair(folder, await makeCertificate({ days: 16 }))
    const { lines, pass, certificate } = followed(t, folder)
    const warnings = () => lines.filter(({ level }) => level === 40).map(({ msg }) => msg)
    pass(1.5 * DAY)
    assert.deepEqual(warnings(), [])
    pass(DAY)
    assert.deepEqual(warnings(), ['the certificate expires soon'])
    for (let quarter = 0; quarter < 12; quarter++) pass(DAY / 4)
    assert.equal(warnings().length, 4)
    pass(11 * DAY)
    assert.equal(warnings().at(-1), 'the certificate has expired')
    assert.ok(certificate.expiresAt.getTime() < Date.now())
    assert.ok(lines.every(({ level }) => level < 50))
    assert.equal(certificate.failures, 0, 'the files did not change')
  })
})

test('a service beyond this machine warns once of tokens in clear text, unless a proxy is named', async (t) => {
  const folder = tempFolder(t)
  const warned = async (args: readonly string[], name: string): Promise<number> => {
    const env = { PLANTSTORE_LOG_LEVEL: 'info', PLANTSTORE_STORE: `sqlite:${join(folder, name)}` }
    const { program } = await startServer(t, folder, args, { env })
    await program.tells(/"msg":"serving"/)
    return program.stderr.match(/tokens cross the network in clear text/g)?.length ?? 0
  }
  assert.equal(await warned(['--host', '0.0.0.0'], 'a.db'), 1)
  assert.equal(await warned(['--host', '0.0.0.0', '--trusted-proxies', '10.0.0.7'], 'b.db'), 0)
  assert.equal(await warned(['--host', '0.0.0.0', ...writePair(folder, first)], 'c.db'), 0)
  assert.equal(await warned([], 'd.db'), 0)
})
