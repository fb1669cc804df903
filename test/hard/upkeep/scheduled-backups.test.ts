import assert from 'node:assert/strict'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { takeLock } from '../../../src/base/files.ts'
import { BackupFolder, ScheduledBackups } from '../../../src/cli/scheduled-backups.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { command } from '../../support/commands.ts'
import { plantsIn, tempFolder } from '../../support/files.ts'
import { send } from '../../support/load.ts'
import { isLinux, isRoot, notTestedHere } from '../../support/not-tested.ts'
import { PROGRAM, startServer, TOKEN } from '../../support/process.ts'
import { until } from '../../support/until.ts'

const stampAt = (time: number): string => new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '')

async function metric(address: string, name: string): Promise<number> {
  const response = await fetch(`${address}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await response.text())?.[1])
}

/** Creates a store in the folder. Resolves with the start of the names of its scheduled backups. */
async function newStore(folder: string): Promise<string> {
  const store = ['--store', `sqlite:${join(folder, 'plants.db')}`]
  assert.equal((await command(['token', 'create', '--name', 'x', ...store])).code, 0)
  const { identity } = JSON.parse((await command(['status', '--json', ...store])).stdout) as { identity: string }
  assert.match(identity, /^[0-9a-f]{8}$/)
  return `plants-${identity}-`
}

const schedule = (backups: string, keep: number): string[] => [
  ...['--backup-every', '1m', '--backup-keep', String(keep), '--backup-folder', backups, '--log-level', 'info'],
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
  const { program, address, storePath } = await startServer(t, folder, schedule(backups, 2))
  await program.tells(/"msg":"backed the store up"/)
  const names = () => readdirSync(backups).filter((name) => !others.includes(name))
  await until(() => names().length <= 2, 'the oldest backup stays')
  const [kept, made = ''] = names()
  assert.equal(kept, `${own}20220101T000000Z.db`)
  assert.match(made, new RegExp(`^${own}20\\d{6}T\\d{6}Z\\.db$`))
  assert.equal(statSync(join(backups, made)).mode & 0o777, 0o600)
  const found = others.filter((name) => !readdirSync(backups).includes(name))
  assert.deepEqual(found, [])
  const newest = await metric(address, 'plantstore_backup_newest_timestamp_seconds')
  assert.ok(Math.abs(newest - Date.now() / 1000) < 600, String(newest))
  assert.equal(await metric(address, 'plantstore_backup_failures_total'), 0)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  program.signal('SIGTERM')
  assert.equal((await program.outcome).code, 0)

  // The next backup is due when the newest is a minute old, even after a restart.
  rmSync(join(backups, made))
  const recent = `${own}${stampAt(Date.now() - 56_000)}.db`
  writeFileSync(join(backups, recent), '')
  const next = await startServer(t, folder, schedule(backups, 2))
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
    const { program, address } = await startServer(t, folder, schedule(backups, 1))
    await program.tells(/"msg":"backed the store up"/)
    const newest = await metric(address, 'plantstore_backup_newest_timestamp_seconds')
    assert.ok(Math.abs(newest - Date.now() / 1000) < 600, String(newest))
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
  const { program } = await startServer(t, folder, schedule(backups, 1))
  await program.tells(/"msg":"backed the store up"/)
  program.signal('SIGTERM')
  await program.outcome
  const [made, ...rest] = readdirSync(backups).filter((name) => name.startsWith(own))
  assert.ok(made !== undefined && rest.length === 0)
  assert.deepEqual(readdirSync(backups).sort(), [made, ...byHand].sort())
})

test('backups with stamps of the future go first, and the metric does not take them for new ones', async (t) => {
  const [folder, backups] = [tempFolder(t), tempFolder(t)]
  const own = await newStore(folder)
  const [past, ...future] = ['20200101T000000Z', '20980101T000000Z', '20990101T000000Z'].map((s) => `${own}${s}.db`)
  for (const name of [past ?? '', ...future]) writeFileSync(join(backups, name), '')
  const { program, address } = await startServer(t, folder, schedule(backups, 2))
  await program.tells(/"msg":"backed the store up"/)
  await until(() => readdirSync(backups).length <= 2, 'the oldest backup stays')
  const [first, made = ''] = readdirSync(backups).sort()
  assert.equal(first, past)
  assert.ok(!future.includes(made) && made.startsWith(own))
  const newest = await metric(address, 'plantstore_backup_newest_timestamp_seconds')
  assert.ok(Math.abs(newest - Date.now() / 1000) < 600, String(newest))
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

test('the service logs and counts a backup that fails, and continues', async (t) => {
  if (!(isLinux && isRoot)) return notTestedHere(t, 'a scheduled backup that fails, which takes a folder like /proc')
  const { program, address } = await startServer(t, tempFolder(t), ['--backup-every', '1m', '--backup-folder', '/proc'])
  await program.tells(/\/proc\/plants-\S+: there is no such file or folder.*"msg":"a scheduled backup failed"/)
  assert.equal(await metric(address, 'plantstore_backup_failures_total'), 1)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  program.signal('SIGTERM')
  assert.equal((await program.outcome).code, 0)
})

test('shutdown ends a backup in progress and leaves no file of it', async (t) => {
  const backups = tempFolder(t)
  const { program } = await startServer(t, tempFolder(t), ['--backup-every', '1m', '--backup-folder', backups])
  program.signal('SIGTERM')
  const { code, stderr } = await program.outcome
  assert.deepEqual([code, stderr], [0, ''])
  const found = readdirSync(backups).filter((name) => name.includes('.new-'))
  assert.deepEqual(found, [])
})

test('the start refuses an unsuitable folder for backups before it creates a store', async (t) => {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'file'), '')
  for (const [backups, why] of [
    [join(folder, 'missing'), /backup folder \S+missing: it does not exist; create it first/],
    [join(folder, 'file'), /backup folder \S+file: it is not a folder/],
  ] as const) {
    const args = ['serve', '--port', '0', '--store', `sqlite:${folder}/plants.db`, '--backup-every', '1d']
    const { code, stderr } = await command([...args, '--backup-folder', backups])
    assert.match(stderr, why)
    assert.equal(code, 1)
  }
  assert.deepEqual(readdirSync(folder), ['file'])
})
