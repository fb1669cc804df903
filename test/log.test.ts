import assert from 'node:assert/strict'
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileTarget, LineWriter, logText } from '../src/cli/log.ts'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { send } from './support/load.ts'
import { isLinux, notTestedHere, runs } from './support/not-tested.ts'
import { startServer } from './support/process.ts'
import { hasTerminal, ON_TERMINAL } from './support/terminal.ts'
import { until } from './support/until.ts'

const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR } = constants

interface Writing {
  readonly lines: LineWriter
  readonly faults: string[]
  readonly mended: string[]
  /** Writes all later lines to another path. */
  goTo(path: string): void
  /** The descriptors that it opened. */
  readonly opened: number[]
}

function writing(path: string, maxWaiting: number, gatherTime = 100): Writing {
  let next = path
  const [faults, mended, opened]: [string[], string[], number[]] = [[], [], []]
  const open = () => {
    const file = openSync(next, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600)
    opened.push(file)
    return fileTarget(file)
  }
  const lines = new LineWriter(open, {
    maxWaiting,
    gatherTime,
    format: (line) => line,
    dropped: 'lines were dropped',
    onFault: ({ code }) => faults.push(String(code)),
    onMended: () => mended.push(next),
  })
  const goTo = (other: string) => {
    next = other
    lines.reopen()
  }
  return { lines, faults, mended, goTo, opened }
}

const isOpen = (file: number): boolean => {
  try {
    return fstatSync(file).isFile()
  } catch {
    return false
  }
}

suite('a writer of lines', () => {
  for (const gatherTime of [0, 100]) {
    test(`writes all lines in order, as UTF-8, if it gathers them for ${gatherTime} ms`, async (t) => {
      const path = join(tempFolder(t), 'lines')
      const { lines } = writing(path, 2 ** 23, gatherTime)
      const texts = ['a\n', 'Ölbaum 橄欖樹 🌿\n', `${'ż'.repeat(100_000)}\n`, '\n', `${'x'.repeat(500_000)}\n`, 'b\n']
      let expected = ''
      for (let round = 0; round < 5; round++) {
        for (const text of texts) lines.write(text)
        expected += texts.join('')
        if (round % 2 === 0) await lines.flush()
      }
      for (let i = 0; i < 5000; i++) lines.write(`line ${i}\n`)
      expected += Array.from({ length: 5000 }, (_, i) => `line ${i}\n`).join('')
      await lines.flush()
      assert.equal(readFileSync(path, 'utf8'), expected)
      assert.deepEqual([lines.bound.refused, lines.bound.used], [0, 0])
    })
  }

  test('loses no line and closes the old file when it reopens its file under load', async (t) => {
    const folder = tempFolder(t)
    const { lines, goTo, opened } = writing(join(folder, '0'), 2 ** 24)
    const texts = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${'x'.repeat(40)}\n`)
    for (const [i, text] of texts.entries()) {
      lines.write(text)
      if (i % 2000 === 1999) {
        goTo(join(folder, String((i + 1) / 2000)))
        await sleep(0)
      }
    }
    await lines.flush()
    const written = Array.from({ length: 11 }, (_, i) => readFileSync(join(folder, String(i)), 'utf8'))
    assert.equal(written.join(''), texts.join(''))
    await until(() => new Set(opened.filter(isOpen)).size === 1, 'more than one file stays open')
  })

  test('goes on with its file if it cannot open it again', async (t) => {
    const folder = tempFolder(t)
    const { lines, goTo } = writing(join(folder, 'lines'), 1000)
    assert.throws(() => goTo(join(folder, 'absent', 'lines')), { code: 'ENOENT' })
    lines.write('a\n')
    await lines.flush()
    assert.equal(readFileSync(join(folder, 'lines'), 'utf8'), 'a\n')
  })

  test('keeps lines while the disk is full, drops and counts lines beyond its bound, and recovers', async (t) => {
    if (!isLinux) return notTestedHere(t, 'a full disk, because there is no /dev/full')
    const path = join(tempFolder(t), 'lines')
    const { lines, faults, mended, goTo } = writing('/dev/full', 1000)
    lines.write('the first line\n')
    await lines.flush()
    assert.deepEqual(faults, ['ENOSPC'], 'a flush ends where a write fails, and the fault is told')
    for (let i = 0; i < 1000; i++) lines.write(`line ${i} of ten\n`)
    assert.ok(lines.bound.refused > 900, String(lines.bound.refused))
    assert.ok(lines.bound.used > 900 && lines.bound.used <= 1000, String(lines.bound.used))
    assert.deepEqual(mended, [])
    goTo(path)
    await lines.flush()
    const written = readFileSync(path, 'utf8').trimEnd().split('\n')
    const dropped = JSON.parse(written.at(-1) ?? '') as { msg: string; dropped: number }
    assert.deepEqual([written[0], written[1]], ['the first line', 'line 0 of ten'])
    assert.deepEqual([dropped.msg, dropped.dropped], ['lines were dropped', lines.bound.refused])
    assert.equal(written.length - 2 + dropped.dropped, 1000, 'each line is written or counted')
    assert.deepEqual([faults, mended], [['ENOSPC'], [path]])
  })

  test('never waits for the reader of a pipe, and drops and counts lines beyond its bound', async (t) => {
    const path = join(tempFolder(t), 'pipe')
    if (!isLinux || !runs('mkfifo', path)) return notTestedHere(t, 'a pipe that nobody reads')
    const pipe = openSync(path, O_RDWR | O_NONBLOCK)
    cleanUp(t, () => closeSync(pipe))
    const { lines, faults } = writing(path, 10_000)
    // A pipe holds 64 KiB.
    for (let i = 0; lines.bound.refused === 0; i++) {
      lines.write(`${'x'.repeat(999)}${i}\n`)
      if (i % 5 === 4) await Promise.race([lines.flush(), sleep(200)])
    }
    assert.deepEqual(faults, [], 'a slow reader is not reported as a fault')
    let text = ''
    const buffer = Buffer.alloc(2 ** 16)
    const drain = () => {
      try {
        text += buffer.toString('utf8', 0, readSync(pipe, buffer))
      } catch {
        // The pipe is empty.
      }
      return text.includes('lines were dropped')
    }
    await until(drain, 'no line tells that lines were dropped')
    assert.match(text, /"dropped":\d+/)
  })
})

const line = (members: object) =>
  logText(`${JSON.stringify({ level: 30, time: '2026-11-21T09:29:45.446Z', ...members })}\n`)

suite('a line of the log as text', () => {
  test('has the time of day, the level, the message, and all other members', () => {
    assert.equal(
      line({ req: 'c7-f', method: 'GET', status: 404, scopes: ['a'], msg: 'refused: no such path' }),
      '09:29:45.446  INFO   refused: no such path  req=c7-f method=GET status=404 scopes=["a"]\n',
    )
    assert.equal(line({ level: 50, msg: 'x' }), '09:29:45.446  ERROR  x\n')
    assert.equal(line({ level: 99 }), '09:29:45.446  99\n')
  })

  test('escapes control characters, and stays one line', () => {
    assert.equal(
      line({ path: '/a\n\u001b[2J\u202eb', msg: 'a\r\nb' }),
      '09:29:45.446  INFO   a b  path="/a\\n\\u001b[2J\\u{202e}b"\n',
    )
    assert.equal(line({ path: '/a\u001b' }), '09:29:45.446  INFO   path=/a\\u{1b}\n')
  })

  test('quotes a text with blanks, so that it cannot pass for other members', () => {
    assert.equal(
      line({ msg: 'audit', tokenName: 'a outcome=refused', token: 'x"y', plant: '17' }),
      '09:29:45.446  INFO   audit  tokenName="a outcome=refused" token="x\\"y" plant=17\n',
    )
  })

  test('shows the stack of its error below', () => {
    const err = { type: 'Error', message: 'no', stack: 'Error: no\n    at a\u001b (b:1)' }
    assert.equal(
      line({ msg: 'failed', err }),
      '09:29:45.446  INFO   failed\n    Error: no\n        at a\\u{1b} (b:1)\n',
    )
    assert.equal(line({ msg: 'failed', err: null }), '09:29:45.446  INFO   failed\n')
  })
})

const AUDITED =
  /^\S+ {2}INFO {3}audit {2}operation=createPlant outcome=created plant=1 token=configured .* req=\S+\s*$/m

suite('the log, with the audit log in it,', () => {
  test('is text on a terminal', async (t) => {
    if (!hasTerminal) return notTestedHere(t, 'a log on a terminal, as there is no command script')
    const env = { PLANTSTORE_LOG_LEVEL: 'debug' }
    const { program, address } = await startServer(t, tempFolder(t), [], { under: ON_TERMINAL, env })
    await send('POST', `${address.trim()}/plants`, { body: '{"id":1,"name":"a"}' })
    const told = await program.says((said) => /^\S+ {2}DEBUG {2}answered .*$/m.exec(said)?.[0])
    await program.says((said) => AUDITED.exec(said)?.[0])
    assert.match(
      told,
      /^\d\d:\d\d:\d\d\.\d{3} .* req=\S+ operation=createPlant method=POST path=\/plants .* status=200/,
    )
  })

  test('is JSON elsewhere, and in the format of --log-format', async (t) => {
    const env = { PLANTSTORE_LOG_LEVEL: 'info' }
    const [json, text] = await Promise.all([
      startServer(t, tempFolder(t), [], { env }),
      startServer(t, tempFolder(t), ['--log-format', 'text'], { env }),
    ])
    await Promise.all([json.program.tells(/"msg":"serving"/), text.program.tells(/ INFO {3}serving {2}host=127/)])
    for (const { address } of [json, text]) {
      await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
    }
    await Promise.all([json.program.tells(/"msg":"audit".*\n/), text.program.tells(AUDITED)])
    for (const told of json.program.stderr.trim().split('\n')) JSON.parse(told)
    assert.doesNotMatch(text.program.stderr, /^\{/m)
  })
})
