import assert from 'node:assert/strict'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { plantsIn, tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { isLinux, isRoot, notTestedHere } from '../support/not-tested.ts'
import { run, startServer, TOKEN } from '../support/process.ts'

const stampAt = (time: number): string => new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '')

async function metric(address: string, name: string): Promise<number> {
  const response = await fetch(`${address}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await response.text())?.[1])
}

test('the service makes backups at its start and at each interval, and keeps the newest', async (t) => {
  const [folder, backups] = [tempFolder(t), tempFolder(t)]
  const old = ['20200101T000000Z', '20210101T000000Z', '20220101T000000Z'].map((stamp) => `plants-${stamp}.db`)
  // Files that are no backups of this store, and one that an ended process left.
  const others = [
    'other-20200101T000000Z.db',
    'plants-2020.db',
    'plants.db',
    `plants-20200101T000000Z.db.new-${process.pid}-0123abcd`,
  ]
  const left = 'plants-20200101T000000Z.db.new-99999999-0123abcd'
  for (const name of [...old, ...others, left, `${left}-journal`]) writeFileSync(join(backups, name), '')
  const schedule = ['--backup-every', '1m', '--backup-keep', '2', '--backup-folder', backups, '--log-level', 'info']
  const { program, address, storePath } = await startServer(t, folder, schedule)
  await program.tells(/"msg":"backed the store up"/)
  const names = () => readdirSync(backups).filter((name) => !others.includes(name))
  while (names().length > 2) await sleep(20)
  const [kept, made = ''] = names()
  assert.equal(kept, 'plants-20220101T000000Z.db')
  assert.match(made, /^plants-20\d{6}T\d{6}Z\.db$/)
  assert.equal(statSync(join(backups, made)).mode & 0o777, 0o600)
  assert.deepEqual(
    others.filter((name) => !readdirSync(backups).includes(name)),
    [],
  )
  const newest = await metric(address, 'plantstore_backup_newest_timestamp_seconds')
  assert.ok(Math.abs(newest - Date.now() / 1000) < 600, String(newest))
  assert.equal(await metric(address, 'plantstore_backup_failures_total'), 0)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  program.signal('SIGTERM')
  assert.equal((await program.outcome).code, 0)

  // The next backup is due when the newest is a minute old, even after a restart.
  rmSync(join(backups, made))
  const recent = `plants-${stampAt(Date.now() - 56_000)}.db`
  writeFileSync(join(backups, recent), '')
  const next = await startServer(t, folder, schedule)
  assert.ok(names().includes(recent))
  await next.program.tells(/"msg":"backed the store up"/)
  while (names().length > 2) await sleep(20)
  const [, second = ''] = names().sort()
  assert.ok(second > recent)
  assert.deepEqual([...plantsIn(join(backups, second)).keys()], [1n])
  assert.equal(storePath, next.storePath)
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
  assert.deepEqual(
    readdirSync(backups).filter((name) => name.includes('.new-')),
    [],
  )
})

test('the start refuses an unsuitable folder for backups before it creates a store', async (t) => {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'file'), '')
  for (const [backups, why] of [
    [join(folder, 'missing'), /backup folder \S+missing: it does not exist; create it first/],
    [join(folder, 'file'), /backup folder \S+file: it is not a folder/],
  ] as const) {
    const args = ['serve', '--port', '0', '--store', `sqlite:${folder}/plants.db`, '--backup-every', '1d']
    const { code, stderr } = await run(t, [...args, '--backup-folder', backups])
    assert.match(stderr, why)
    assert.equal(code, 1)
  }
  assert.deepEqual(readdirSync(folder), ['file'])
})
