import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { BackupHook, type BackupResult } from '../../../src/cli/backup-hook.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { plantsIn, tempFolder } from '../../support/files.ts'
import { blockIn } from '../../support/guide.ts'
import { isLinux, isRoot, notTestedHere } from '../../support/not-tested.ts'
import { run, startServer, TOKEN } from '../../support/process.ts'
import { until } from '../../support/until.ts'

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

/** Any free port: a start checks its port first. */
const schedule = (folder: string, hook: string) => [
  ...['--port', '0'],
  ...['--backup-every', '1m', '--backup-folder', folder, '--backup-hook', hook, '--log-level', 'info'],
]

async function metric(address: string, name: string): Promise<number> {
  const response = await fetch(`${address}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await response.text())?.[1])
}

suite('the hook of scheduled backups', () => {
  test('gets the path of each backup, which is complete, and no secret of the service', async (t) => {
    const { file, told } = script(t, TELLS)
    const { program, address } = await startServer(t, tempFolder(t), schedule(tempFolder(t), file))
    await program.tells(/"msg":"the backup hook has run"/)
    const [line = ''] = linesOf(told)
    const [path = '', error, token] = line.split('|')
    assert.deepEqual([error, token], ['', ''])
    assert.deepEqual([...plantsIn(path).keys()], [])
    assert.equal(await metric(address, 'plantstore_backup_hook_failures_total'), 0)
  })

  test('gets the reason of a failed backup', async (t) => {
    if (!(isLinux && isRoot)) return notTestedHere(t, 'a scheduled backup that fails, which takes a folder like /proc')
    const { file, told } = script(t, TELLS)
    const { program } = await startServer(t, tempFolder(t), schedule('/proc', file))
    await program.tells(/"msg":"a scheduled backup failed"/)
    await program.tells(/"msg":"the backup hook has run"/)
    assert.match(linesOf(told).join(), /^\|.*\/proc\/plants-\S+: there is no such file or folder.*\|$/)
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
    const hook = new BackupHook({ file, environment, log: pino({ level: 'silent' }) })
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
    const { program, address } = await startServer(t, tempFolder(t), schedule(tempFolder(t), file))
    await program.tells(/"said":"no such bucket".*"exit code 3".*"msg":"the backup hook failed"/)
    assert.equal(await metric(address, 'plantstore_backup_hook_failures_total'), 1)
  })

  test('is killed after its time, and when the service stops, with what it has started', async (t) => {
    const sleeps = script(t, 'sleep 1000 &\necho $! > "$told"\nwait')
    const lines: string[] = []
    const log = pino({}, { write: (line: string) => void lines.push(line) })
    const hook = new BackupHook({ file: sleeps.file, environment: process.env, log, timeout: 300 })
    await hook.run(RESULT)
    assert.match(lines.at(-1) ?? '', /it ran for longer than .* minutes/)
    assert.equal(hook.failures, 1)
    await ended(Number(linesOf(sleeps.told)[0]))

    const other = script(t, 'sleep 1000 &\necho $! > "$told"\nwait')
    const { program } = await startServer(t, tempFolder(t), schedule(tempFolder(t), other.file))
    await until(() => linesOf(other.told).length === 1, 'the hook does not run')
    const child = Number(linesOf(other.told)[0])
    cleanUp(t, () => {
      if (isRunning(child)) process.kill(child, 'SIGKILL')
    })
    program.signal('SIGTERM')
    assert.equal((await program.outcome).code, 0)
    await ended(child)
  })

  test('that can not run stops the start, which creates no store', async (t) => {
    const [folder, backups] = [tempFolder(t), tempFolder(t)]
    const plain = join(folder, 'plain')
    writeFileSync(plain, '')
    for (const [file, why] of [
      [join(folder, 'none'), /backup hook \S+: it does not exist/],
      [folder, /backup hook \S+: it is not a file/],
      [plain, /backup hook \S+: this user may not execute it/],
    ] as const) {
      const store = join(folder, 'plants.db')
      const { code, stderr } = await run(t, ['serve', '--store', `sqlite:${store}`, ...schedule(backups, file)])
      assert.match(stderr, why)
      assert.equal(code, 1)
      assert.equal(existsSync(store), false)
    }
    const alone = await run(t, [
      'serve',
      '--store',
      `sqlite:${folder}/plants.db`,
      '--port',
      '0',
      '--backup-hook',
      plain,
    ])
    assert.match(alone.stderr, /--backup-hook: needs --backup-every/)
    assert.equal(alone.code, 2)
  })

  test('that vanishes or is no program fails alone, not the service', async (t) => {
    const { file } = script(t, '')
    writeFileSync(file, 'no program, and no interpreter')
    const lines: string[] = []
    const hook = new BackupHook({
      file,
      environment: {},
      log: pino({}, { write: (line: string) => void lines.push(line) }),
    })
    await hook.run(RESULT)
    assert.match(lines.at(-1) ?? '', /the backup hook failed/)
    assert.equal(hook.failures, 1)
  })

  test('fails alone on a machine that starts no process, and runs again later', async (t) => {
    const { file, told } = script(t, TELLS)
    const lines: string[] = []
    const log = pino({}, { write: (line: string) => void lines.push(line) })
    const environment: NodeJS.ProcessEnv = {}
    const hook = new BackupHook({ file, environment, log })
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
