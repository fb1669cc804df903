import assert from 'node:assert/strict'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AuditOutput, fileTarget } from '../src/cli/audit-output.ts'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { isLinux, notTestedHere, runs } from './support/not-tested.ts'
import { until } from './support/until.ts'

const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR } = constants

const open = (path: string) => openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600)

interface Told {
  readonly faults: string[]
  mended: number
}

function outputTo(path: string, maxWaiting: number): { output: AuditOutput; told: Told } {
  const told: Told = { faults: [], mended: 0 }
  const output = new AuditOutput(fileTarget(open(path)), {
    maxWaiting,
    isOn: () => true,
    onFault: ({ code }) => told.faults.push(String(code)),
    onMended: () => told.mended++,
  })
  return { output, told }
}

const flushed = (output: AuditOutput) => new Promise<void>((resolve) => output.flush(resolve))

suite('the output of the audit log', () => {
  test('writes all lines in order, and lines after a switch to the new file', async (t) => {
    const folder = tempFolder(t)
    const { output } = outputTo(join(folder, 'one'), 2 ** 20)
    const lines = Array.from({ length: 5000 }, (_, i) => `line ${i}`)
    for (const line of lines.slice(0, 3000)) output.write(line)
    await flushed(output)
    output.switchTo(fileTarget(open(join(folder, 'two'))))
    for (const line of lines.slice(3000)) output.write(line)
    await flushed(output)
    assert.equal(readFileSync(join(folder, 'one'), 'utf8'), `${lines.slice(0, 3000).join('\n')}\n`)
    assert.equal(readFileSync(join(folder, 'two'), 'utf8'), `${lines.slice(3000).join('\n')}\n`)
    assert.equal(output.dropped, 0)
  })

  test('loses no line and closes the old file when it switches files under load', async (t) => {
    const folder = tempFolder(t)
    const { output } = outputTo(join(folder, '0'), 2 ** 24)
    const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${'x'.repeat(40)}`)
    for (const [i, line] of lines.entries()) {
      output.write(line)
      if (i % 2000 === 1999) {
        output.switchTo(fileTarget(open(join(folder, String((i + 1) / 2000)))))
        await sleep(0)
      }
    }
    await flushed(output)
    const written = Array.from({ length: 11 }, (_, i) => readFileSync(join(folder, String(i)), 'utf8'))
    assert.equal(written.join(''), `${lines.join('\n')}\n`)
  })

  test('keeps lines while the disk is full, drops and counts lines beyond its bound, and recovers', async (t) => {
    if (!isLinux) return notTestedHere(t, 'a full disk, because there is no /dev/full')
    const path = join(tempFolder(t), 'audit')
    const { output, told } = outputTo('/dev/full', 1000)
    output.write('the first line')
    const written = flushed(output)
    await until(() => told.faults.length > 0, 'the fault is not told')
    for (let i = 0; i < 1000; i++) output.write(`line ${i} of ten`)
    assert.deepEqual(told, { faults: ['ENOSPC'], mended: 0 })
    assert.ok(output.dropped > 900, String(output.dropped))
    output.switchTo(fileTarget(open(path)))
    await written
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    const dropped = JSON.parse(lines.at(-1) ?? '') as { msg: string; dropped: number }
    assert.deepEqual([lines[0], lines[1]], ['the first line', 'line 0 of ten'])
    assert.deepEqual([dropped.msg, dropped.dropped], ['audit lines were dropped', output.dropped])
    assert.equal(lines.length - 2 + dropped.dropped, 1000, 'each line is written or counted')
    assert.deepEqual(told, { faults: ['ENOSPC'], mended: 1 })
  })

  test('never waits for the reader of a pipe, and drops and counts lines beyond its bound', async (t) => {
    const path = join(tempFolder(t), 'pipe')
    if (!isLinux || !runs('mkfifo', path)) return notTestedHere(t, 'a pipe that nobody reads')
    const pipe = openSync(path, O_RDWR | O_NONBLOCK)
    cleanUp(t, () => closeSync(pipe))
    const { output, told } = outputTo(path, 10_000)
    // A pipe holds 64 KiB.
    for (let i = 0; output.dropped === 0; i++) {
      output.write(`${'x'.repeat(999)}${i}`)
      if (i % 5 === 4) await Promise.race([flushed(output), sleep(200)])
    }
    assert.deepEqual(told.faults, [], 'a slow reader is not reported as a fault')
    let text = ''
    const buffer = Buffer.alloc(2 ** 16)
    const drain = () => {
      try {
        text += buffer.toString('utf8', 0, readSync(pipe, buffer))
      } catch {
        // The pipe is empty.
      }
      return text.includes('audit lines were dropped')
    }
    await until(drain, 'no line tells that lines were dropped')
    assert.match(text, /"dropped":\d+/)
  })
})
