import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { takeLock } from '../../../src/base/files.ts'
import { BackupHook, type BackupResult } from '../../../src/cli/backup-hook.ts'
import { BackupFolder, ScheduledBackups } from '../../../src/cli/scheduled-backups.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { command } from '../../support/commands.ts'
import { plantsIn, tempFolder } from '../../support/files.ts'
import { blockIn } from '../../support/guide.ts'
import { send } from '../../support/load.ts'
import { isLinux, isRoot, notTestedHere } from '../../support/not-tested.ts'
import { PROGRAM, startServer } from '../../support/process.ts'
import { scrapeAt } from '../../support/scrape.ts'
import { until } from '../../support/until.ts'

const stampAt = (time: number): string => new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '')

const metric = async (address: string, name: string): Promise<number> =>
  (await scrapeAt(address)).value(name) ?? assert.fail(name)

/** Asserts that the newest backup is of these minutes, by the metric. */
async function assertNew(address: string): Promise<void> {
  const newest = await metric(address, 'plantstore_backup_newest_timestamp_seconds')
  assert.ok(Math.abs(newest - Date.now() / 1000) < 600, String(newest))
}

/** Creates a store in the folder. Resolves with the start of the names of its scheduled backups. */
async function newStore(folder: string): Promise<string> {
  const store = ['--store', `sqlite:${join(folder, 'plants.db')}`]
  assert.equal((await command(['token', 'create', '--name', 'x', ...store])).code, 0)
  const { identity } = JSON.parse((await command(['status', '--json', ...store])).stdout) as { identity: string }
  assert.match(identity, /^[0-9a-f]{8}$/)
  return `plants-${identity}-`
}

const schedule = (backups: string, ...more: string[]): string[] => [
  ...['--backup-every', '1m', '--backup-folder', backups, '--log-level', 'info', ...more],
]

test('the service makes backups at its start and at each interval, and keeps the newest', async (t) => {
  const [folder, backups] = [tempFolder(t), tempFolder(t)]
  const own = await newStore(folder)
  const old = ['20200101T000000Z', '20210101T000000Z', '20220101T000000Z'].map((stamp) => `${own}${stamp}.db`)
  // Files that are no backups of this store, and the draft of a process that lives.
  const others = [
    'other-20200101T000000Z.db',
    'plants-2020.db',
    'plants-20200101T000000Z.db',
    `${own}20209901T000000Z.db`,
    'plants.db',
    `${own}20200101T000000Z.db.new-1-0123abcd`,
    `${own}20200101T000000Z.db.new-1-0123abcd.lock`,
    'plants-00000000-20200101T000000Z.db',
  ]
  const left = ['plants-20200101T000000Z.db', `${own}20200101T000000Z.db`].map(
    (name) => `${name}.new-${process.pid}-0123abcd`,
  )
  const drafts = left.flatMap((name) => [name, `${name}-journal`, `${name}.lock`])
  for (const name of [...old, ...others, ...drafts]) writeFileSync(join(backups, name), '')
  const living = takeLock(join(backups, `${own}20200101T000000Z.db.new-1-0123abcd.lock`))
  cleanUp(t, () => living?.release())
  const { program, address, storePath } = await startServer(t, folder, schedule(backups, '--backup-keep', '2'))
  await program.tells(/"msg":"backed the store up"/)
  const names = () => readdirSync(backups).filter((name) => !others.includes(name))
  await until(() => names().length <= 2, 'the oldest backup stays')
  const [kept, made = ''] = names()
  assert.equal(kept, `${own}20220101T000000Z.db`)
  assert.match(made, new RegExp(`^${own}20\\d{6}T\\d{6}Z\\.db$`))
  assert.equal(statSync(join(backups, made)).mode & 0o777, 0o600)
  const found = others.filter((name) => !readdirSync(backups).includes(name))
  assert.deepEqual(found, [])
  await assertNew(address)
  assert.equal(await metric(address, 'plantstore_backup_failures_total'), 0)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  await program.ends()

  // The next backup is due when the newest is a minute old, even after a restart.
  rmSync(join(backups, made))
  const recent = `${own}${stampAt(Date.now() - 56_000)}.db`
  writeFileSync(join(backups, recent), '')
  const next = await startServer(t, folder, schedule(backups, '--backup-keep', '2'))
  assert.ok(names().includes(recent))
  await next.program.tells(/"msg":"backed the store up"/)
  await until(() => names().length <= 2, 'the oldest backup stays')
  const [, second = ''] = names().sort()
  assert.ok(second > recent)
  assert.deepEqual([...plantsIn(join(backups, second)).keys()], [1n])
  assert.equal(storePath, next.storePath)
})

test('stores that share a folder, restored copies included, each make, count and keep backups of their own', async (t) => {
  const backups = tempFolder(t)
  const folders = [tempFolder(t), tempFolder(t), tempFolder(t)] as const
  const starts = [await newStore(folders[0]), await newStore(folders[1])]
  const copy = join(tempFolder(t), 'copy.db')
  const at = (folder: string) => ['--store', `sqlite:${join(folder, 'plants.db')}`]
  assert.equal((await command(['backup', copy, ...at(folders[0])])).code, 0)
  assert.equal((await command(['restore', copy, ...at(folders[2])])).code, 0)
  for (const [i, folder] of folders.entries()) {
    const { program, address } = await startServer(t, folder, schedule(backups, '--backup-keep', '1'))
    await program.tells(/"msg":"backed the store up"/)
    await assertNew(address)
    assert.equal(readdirSync(backups).length, i + 1, 'no store removes a backup of another one')
  }
  for (const start of starts) assert.equal(readdirSync(backups).filter((name) => name.startsWith(start)).length, 1)
})

test('a backup that a person made in the folder, under a name without the identity, stays and delays none', async (t) => {
  const [folder, backups] = [tempFolder(t), tempFolder(t)]
  const own = await newStore(folder)
  const store = ['--store', `sqlite:${join(folder, 'plants.db')}`]
  const byHand = ['20200101T000000Z', stampAt(Date.now())].map((stamp) => `plants-${stamp}.db`)
  for (const name of byHand) assert.equal((await command(['backup', join(backups, name), ...store])).code, 0)
  const { program } = await startServer(t, folder, schedule(backups, '--backup-keep', '1'))
  await program.tells(/"msg":"backed the store up"/)
  await program.ends()
  const [made, ...rest] = readdirSync(backups).filter((name) => name.startsWith(own))
  assert.ok(made !== undefined && rest.length === 0)
  assert.deepEqual(readdirSync(backups).sort(), [made, ...byHand].sort())
})

test('backups with stamps of the future go first, and the metric does not take them for new ones', async (t) => {
  const [folder, backups] = [tempFolder(t), tempFolder(t)]
  const own = await newStore(folder)
  const [past, ...future] = ['20200101T000000Z', '20980101T000000Z', '20990101T000000Z'].map((s) => `${own}${s}.db`)
  for (const name of [past ?? '', ...future]) writeFileSync(join(backups, name), '')
  const { program, address } = await startServer(t, folder, schedule(backups, '--backup-keep', '2'))
  await program.tells(/"msg":"backed the store up"/)
  await until(() => readdirSync(backups).length <= 2, 'the oldest backup stays')
  const [first, made = ''] = readdirSync(backups).sort()
  assert.equal(first, past)
  assert.ok(!future.includes(made) && made.startsWith(own))
  await assertNew(address)
})

test('after the clock is set back by years, backups go on at their interval, and the newest ones stay', async (t) => {
  const [folder, backups] = [tempFolder(t), tempFolder(t)]
  const own = await newStore(folder)
  const storePath = join(folder, 'plants.db')
  let ahead = 10 * 365 * 86_400_000
  const real = Date.now
  t.mock.method(Date, 'now', () => real() + ahead)
  const [, script = ''] = process.argv
  process.argv[1] = PROGRAM
  cleanUp(t, () => {
    process.argv[1] = script
  })
  const options = { storePath, every: 1100, keep: 2, log: pino({ level: 'silent' }) }
  const scheduled = new ScheduledBackups({
    ...options,
    folder: await BackupFolder.open(backups, storePath),
  })
  scheduled.start()
  cleanUp(t, () => scheduled.close())
  const names = () => readdirSync(backups).filter((name) => name.endsWith('.db'))
  await until(() => names().length === 2, 'no first backup')
  ahead = 0
  const wrong = names()
  assert.ok(wrong.every((name) => name.startsWith(own)))
  assert.ok(scheduled.newest <= real() / 1000, 'the newest backup is not of the future')
  await until(() => names().every((name) => !wrong.includes(name)), 'no backups at the time of now')
  const [second = ''] = names()
  await until(() => !names().includes(second), 'no further backup')
  assert.equal(names().length, 2)
  assert.equal(scheduled.failures, 0)
})

test('the service logs and counts a backup that fails, gives its hook the reason, and continues', async (t) => {
  if (!(isLinux && isRoot)) return notTestedHere(t, 'a scheduled backup that fails, which takes a folder like /proc')
  const { file, told } = script(t, TELLS)
  const { program, address } = await startServer(t, tempFolder(t), hooked('/proc', file))
  await program.tells(/\/proc\/plants-\S+: there is no such file or folder.*"msg":"a scheduled backup failed"/)
  assert.equal(await metric(address, 'plantstore_backup_failures_total'), 1)
  await program.tells(/"msg":"the backup hook has run"/)
  assert.match(linesOf(told).join(), /^\|.*\/proc\/plants-\S+: there is no such file or folder.*\|$/)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  await program.ends()
})

test('shutdown ends a backup in progress and leaves no file of it', async (t) => {
  const backups = tempFolder(t)
  const { program } = await startServer(t, tempFolder(t), ['--backup-every', '1m', '--backup-folder', backups])
  assert.equal((await program.ends()).stderr, '')
  const found = readdirSync(backups).filter((name) => name.includes('.new-'))
  assert.deepEqual(found, [])
})

/** Writes an executable script. @returns its path and that of the file `told`, which lies beside it */
function script(t: TestContext, lines: string): { readonly file: string; readonly told: string } {
  const folder = tempFolder(t)
  const [file, told] = [join(folder, 'hook'), join(folder, 'told')]
  writeFileSync(file, `#!/bin/sh\ntold='${told}'\n${lines}\n`)
  chmodSync(file, 0o755)
  return { file, told }
}

const TELLS = `printf '%s\\n' "$PLANTSTORE_BACKUP|$PLANTSTORE_BACKUP_ERROR|$PLANTSTORE_TOKEN" >> "$told"`

const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []

const hooked = (folder: string, hook: string) => schedule(folder, '--backup-hook', hook)

/** A hook without a service, and the lines of its log. */
function hookOf(file: string, environment: NodeJS.ProcessEnv, timeout?: number) {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const hook = new BackupHook({ file, environment, log, ...(timeout === undefined ? {} : { timeout }) })
  return { hook, lines }
}

suite('the hook of scheduled backups', () => {
  test('gets the path of each backup, which is complete, and no secret of the service', async (t) => {
    const { file, told } = script(t, TELLS)
    const { program, address } = await startServer(t, tempFolder(t), hooked(tempFolder(t), file))
    await program.tells(/"msg":"the backup hook has run"/)
    const [line = ''] = linesOf(told)
    const [path = '', error, token] = line.split('|')
    assert.deepEqual([error, token], ['', ''])
    assert.deepEqual([...plantsIn(path).keys()], [])
    assert.equal(await metric(address, 'plantstore_backup_hook_failures_total'), 0)
  })

  test('of the guide copies the folder of a backup, and mails the reason of a failed one', async (t) => {
    const folder = tempFolder(t)
    const told = join(folder, 'told')
    for (const name of ['rclone', 'mail']) {
      const standIn = `#!/bin/sh\n{ echo "${name} $*"; [ ${name} = rclone ] || cat; } >> '${told}'\n`
      writeFileSync(join(folder, name), standIn, { mode: 0o755 })
    }
    const file = join(folder, 'hook')
    writeFileSync(file, blockIn('docs/guides/backup-and-restore.md', 'bash'), { mode: 0o755 })
    const environment = { PATH: `${folder}:${process.env['PATH']}` }
    const { hook } = hookOf(file, environment)
    await hook.run({ file: '/backup/plants.db' })
    await hook.run({ error: 'the folder is full' })
    assert.equal(hook.failures, 0)
    assert.deepEqual(linesOf(told), [
      'rclone copy /backup s3:garden-backups/plantstore --include *.db',
      'mail -s Plantstore: the backup failed you@garden.example',
      'the folder is full',
    ])
  })

  test('is counted and logged with the end of what it wrote when it fails', async (t) => {
    const { file } = script(t, 'echo "no such bucket" >&2; exit 3')
    const { program, address } = await startServer(t, tempFolder(t), hooked(tempFolder(t), file))
    await program.tells(/"said":"no such bucket".*"exit code 3".*"msg":"the backup hook failed"/)
    assert.equal(await metric(address, 'plantstore_backup_hook_failures_total'), 1)
  })

  test('is killed after its time, and when the service stops, with what it has started', async (t) => {
    const sleeps = script(t, 'sleep 1000 &\necho $! > "$told"\nwait')
    const { hook, lines } = hookOf(sleeps.file, process.env, 300)
    await hook.run(RESULT)
    assert.match(lines.at(-1) ?? '', /it ran for longer than .* minutes/)
    assert.equal(hook.failures, 1)
    await ended(Number(linesOf(sleeps.told)[0]))

    const other = script(t, 'sleep 1000 &\necho $! > "$told"\nwait')
    const { program } = await startServer(t, tempFolder(t), hooked(tempFolder(t), other.file))
    await until(() => linesOf(other.told).length === 1, 'the hook does not run')
    const child = Number(linesOf(other.told)[0])
    cleanUp(t, () => {
      if (isRunning(child)) process.kill(child, 'SIGKILL')
    })
    await program.ends()
    await ended(child)
  })

  test('that vanishes or is no program fails alone, not the service', async (t) => {
    const { file } = script(t, '')
    writeFileSync(file, 'no program, and no interpreter')
    const { hook, lines } = hookOf(file, {})
    await hook.run(RESULT)
    assert.match(lines.at(-1) ?? '', /the backup hook failed/)
    assert.equal(hook.failures, 1)
  })

  test('fails alone on a machine that starts no process, and runs again later', async (t) => {
    const { file, told } = script(t, TELLS)
    const environment: NodeJS.ProcessEnv = {}
    const { hook, lines } = hookOf(file, environment)
    // The system refuses a process with so large an environment, as it does one without memory.
    environment['LARGE'] = 'x'.repeat(2 ** 23)
    await hook.run(RESULT)
    assert.match(lines.at(-1) ?? '', /spawn E2BIG.*the backup hook failed/)
    delete environment['LARGE']
    const open: number[] = []
    const limit = spawnSync('prlimit', ['--pid', String(process.pid), '--nofile=200:'])
    if (limit.status !== 0) return notTestedHere(t, 'a hook for which no descriptor is left, without prlimit')
    try {
      for (;;) open.push(openSync('/dev/null', 'r'))
    } catch {
      await hook.run(RESULT)
    }
    for (const descriptor of open) closeSync(descriptor)
    assert.match(lines.at(-1) ?? '', /spawn \S+ EMFILE.*the backup hook failed/)
    assert.equal(hook.failures, 2)
    await hook.run(RESULT)
    assert.deepEqual([hook.failures, linesOf(told).length], [2, 1])
  })
})

const RESULT: BackupResult = { file: '/backup/plants.db' }

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const ended = (pid: number): Promise<void> => until(() => !isRunning(pid), `process ${pid} goes on`)
