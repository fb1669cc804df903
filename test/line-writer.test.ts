import assert from 'node:assert/strict'
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileTarget, LineWriter } from '../src/cli/log.ts'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { isLinux, notTestedHere, runs } from './support/not-tested.ts'
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
