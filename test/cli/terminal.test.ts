import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext } from 'node:test'
import { tempFolder } from '../support/files.ts'
import { manyPlants, PLANTS, textOf, writePlantFile } from '../support/plant-files.ts'
import { type Outcome, run } from '../support/process.ts'
import { ON_TERMINAL, terminalTest } from '../support/terminal.ts'

const STORE = ['--store', 'sqlite:plants.db']
const ERASE = '\r\u001b[K'
const onTerminal = (t: TestContext, folder: string, ...args: string[]): Promise<Outcome> =>
  run(t, args, { cwd: folder, under: ON_TERMINAL })

suite('on a terminal', () => {
  terminalTest('an import shows a progress bar, removes it, and prints a summary', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.ndjson'), manyPlants(100_000))
    const { code, stdout } = await onTerminal(t, folder, 'import', 'plants.ndjson', ...STORE)
    const told = stdout.match(/created a new store at .*\r\n/)?.[0] ?? assert.fail(stdout)
    // Before it prints a line, the command erases the bar if there is one.
    const drawings = stdout.replace(`${ERASE}${told}`, '').replace(told, '').split(ERASE)[0]?.split('\u001b[K') ?? []
    assert.ok(drawings.length > 1, JSON.stringify(stdout))
    for (const drawing of drawings.slice(0, -1)) {
      assert.match(drawing, /^\r\[=* *\] \d+%, [\d,]+ plants/)
      assert.ok(drawing.length <= 100, 'no line is longer than the terminal is wide')
    }
    const said = stdout.split(ERASE).at(-1) ?? ''
    assert.match(said, /^done: 100,000 added, .* rows in .*\r\nTo take it back: plantstore undo [0-9a-f-]{36}\r\n$/)
    assert.equal(code, 0)
  })

  terminalTest('an import prints no control sequences where TERM says that the terminal has none', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.ndjson'), manyPlants(100_000))
    const args = ['import', 'plants.ndjson', ...STORE]
    const { code, stdout } = await run(t, args, { cwd: folder, under: ON_TERMINAL, env: { TERM_OF_TEST: 'dumb' } })
    assert.ok(!stdout.includes(ERASE.slice(1)) && !stdout.includes('\r['), JSON.stringify(stdout))
    assert.match(stdout, /^done: 100,000 added, .* rows in .*\r$/m)
    assert.equal(code, 0)
  })

  terminalTest('the progress bar stays below messages about refused rows', async (t) => {
    const folder = tempFolder(t)
    const good = (first: number) => textOf('ndjson', manyPlants(60_000, first))
    const bad = '{"id":"x","name":"a"}\n'.repeat(500)
    writeFileSync(join(folder, 'plants.ndjson'), good(0) + bad + good(100_000))
    const { code, stdout } = await onTerminal(t, folder, 'import', 'plants.ndjson', ...STORE)
    const lines = [...stdout.matchAll(/line \d+: error 40002: [^\r\n]*\r\n(\r\[)?/g)]
    assert.equal(lines.length, 500)
    const follows = lines.every(([, bar]) => bar !== undefined)
    assert.ok(follows, 'the bar follows each line')
    assert.equal(code, 1)
  })

  terminalTest('a copy shows a progress bar for copying and another for comparing', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.ndjson'), manyPlants(100_000))
    await run(t, ['import', 'plants.ndjson', ...STORE], { cwd: folder })
    const copying = ['copy', '--from', 'sqlite:plants.db', '--to', 'sqlite:other.db']
    const { code, stdout } = await onTerminal(t, folder, ...copying)
    for (const doing of ['copying', 'comparing']) {
      assert.match(stdout, new RegExp(`\\r\\[=* *\\] ${doing}: \\d+%, [\\d,]+ plants`), JSON.stringify(stdout))
    }
    assert.match(stdout.split(ERASE).at(-1) ?? '', /^done: 100,000 plants added, 0 unchanged, .*\r\n$/)
    assert.equal(code, 0)
  })

  terminalTest('an export to the terminal prints no control characters of plants', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.ndjson'), PLANTS)
    await run(t, ['import', 'plants.ndjson', ...STORE], { cwd: folder })
    for (const format of ['csv', 'ndjson']) {
      const { code, stdout } = await onTerminal(t, folder, 'export', '-', '--format', format, '--quiet', ...STORE)
      assert.match(stdout, /\\u(?:\{1b\}|001b)\[31mred/)
      assert.match(stdout, /b\\u(?:\{2028\}|2028)c\\u\{feff\}/)
      for (const character of ['\u001b', '\u2028', '\ufeff']) assert.ok(!stdout.includes(character))
      assert.equal(code, 0)
    }
    const packed = await onTerminal(t, folder, 'export', '-', '--format', 'csv', '--gzip', ...STORE)
    assert.match(packed.stdout, /^plantstore: --gzip: a terminal cannot show compressed data; name a file\r\n$/)
    assert.equal(packed.code, 2)
  })
})
