import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { command } from '../support/commands.ts'
import { plantsIn, snapshot, tempFolder } from '../support/files.ts'
import { manyPlants, PLANTS, textOf, writePlantFile } from '../support/plant-files.ts'
import { assertEnded, Program, run } from '../support/process.ts'

const asMap = (plants: typeof PLANTS) => new Map(plants.map(({ id, name, tag }) => [id, { name, tag }]))

/** The pattern of a summary with these counts. */
const COUNTS = (added: number, updated: number, unchanged: number, refused: number | string) =>
  new RegExp(`: ${added} added, ${updated} updated, ${unchanged} unchanged, ${refused} refused; .* rows in .*s, .*/s\n`)

suite('plantstore import into a store', () => {
  test('goes on without a reader of its standard error', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.csv'), PLANTS)
    const program = new Program(t, ['import', 'plants.csv'], { cwd: folder })
    program.child.stderr?.destroy()
    assert.equal((await program.outcome).code, 0)
    assert.equal(plantsIn(join(folder, 'data/plants.db')).size, PLANTS.length)
  })

  test('uses the configured store if no flag names one, and creates the default store', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.csv'), PLANTS)
    assert.equal((await command(['import', 'plants.csv'], { cwd: folder })).code, 0)
    assert.equal(plantsIn(join(folder, 'data/plants.db')).size, PLANTS.length)
    const env = { PLANTSTORE_STORE: 'sqlite:other.db' }
    assert.equal((await command(['import', 'plants.csv'], { cwd: folder, env })).code, 0)
    assert.equal(plantsIn(join(folder, 'other.db')).size, PLANTS.length)
  })

  test('reads standard input, compressed or not, in the format of the flags', async (t) => {
    const folder = tempFolder(t)
    writeFileSync(join(folder, 'a'), textOf('csv', PLANTS))
    writeFileSync(join(folder, 'b'), gzipSync(textOf('ndjson', PLANTS)))
    const read = (file: string, ...flags: string[]) =>
      run(t, ['import', '-', '--store', `sqlite:${file}.db`, ...flags], {
        cwd: folder,
        under: ['sh', '-c', `cat ${file} | "$0" "$@"`],
      })
    assert.equal((await read('a', '--format', 'csv')).code, 0)
    assert.equal((await read('b', '--format', 'ndjson', '--gzip')).code, 0)
    for (const file of ['a', 'b']) assert.deepEqual(plantsIn(join(folder, `${file}.db`)), asMap(PLANTS))
  })

  test('names rows that would add the name and tag of a stored plant, in a dry run that asks for them', async (t) => {
    const folder = tempFolder(t)
    writeFileSync(join(folder, 'a.csv'), 'id,name,tag\n9223372036854775807,Fern,shade\n8,Mossy rock,shade\n')
    writeFileSync(join(folder, 'b.csv'), 'id,name,tag\n1,Fern,shade\n2,Fern,\n')
    assert.equal((await command(['import', 'a.csv'], { cwd: folder })).code, 0)
    const { stderr, code } = await command(['import', 'b.csv', '--dry-run', '--duplicates'], { cwd: folder })
    assert.equal(code, 0)
    const pattern = /^line 2: has the name and tag of plant 9223372036854775807\n1 row would add a plant with the name/m
    // A slow machine has a line of progress before.
    assert.match(stderr, pattern)
    const json = await command(['import', 'b.csv', '--dry-run', '--duplicates', '--json'], { cwd: folder })
    const listed = /"duplicates": 1,\s+"duplicateRows": \[\s+\{\s+"line": 2,\s+"id": 9223372036854775807\s+\}/
    assert.match(json.stdout, listed)
    writeFileSync(join(folder, 'c.csv'), 'Name,Bed\nFern,shade\nMossy rok,shade\n')
    const sheet = ['import', 'c.csv', '--columns', 'name=Name,tag=Bed', '--dry-run', '--duplicates']
    for (const [ids, what] of Object.entries({ assign: 'left out with', assignAll: 'would add a plant with' })) {
      const looked = await command([...sheet, '--ids', ids], { cwd: folder })
      assert.ok(looked.stderr.includes(`\n1 row ${what} the name and tag of a stored one\n`), looked.stderr)
      assert.match(looked.stderr, /^line 3: looks like plant 8, "Mossy rock"\n1 row would add a plant that/m)
    }
    const wrong = await command(['import', 'b.csv', '--duplicates'], { cwd: folder })
    assert.deepEqual([wrong.code, wrong.stderr.includes('--duplicates: works only with --dry-run')], [2, true])
  })

  test('names each refused row by its line, stores the other rows, and exits with 1', async (t) => {
    const folder = tempFolder(t)
    const path = join(folder, 'plants.ndjson')
    writeFileSync(path, '{"id":1,"name":"a"}\n\nnonsense\n{"id":2}\n{"id":1,"name":"b"}\n{"id":3,"name":"c"}')
    const { code, stdout, stderr } = await command(['import', path, '--store', `sqlite:${folder}/plants.db`])
    assert.match(stderr, COUNTS(2, 0, 0, 3))
    const found = stderr.match(/^line \d+: error \d+: .*/gm)?.map((line) => line.split(': ', 2).join(': '))
    assert.deepEqual(found, ['line 3: error 40001', 'line 4: error 40002', 'line 5: error 40901'])
    assert.match(stderr, /^line 4: error 40002: name is required$/m)
    assert.match(stderr, /^Some rows were refused\. Correct them and import the file again/m)
    assert.deepEqual([code, stdout], [1, ''])
    assert.deepEqual([...plantsIn(join(folder, 'plants.db')).keys()], [1n, 3n])
  })

  test('lists the first thousand refused rows and counts the others', async (t) => {
    const folder = tempFolder(t)
    writeFileSync(join(folder, 'plants.ndjson'), '{}\n'.repeat(2500))
    const { code, stderr } = await command(['import', 'plants.ndjson', '--store', 'sqlite:plants.db'], { cwd: folder })
    const told = stderr.match(/^line \d+: /gm) ?? []
    assert.deepEqual([told.length, told.at(-1)], [1000, 'line 1000: '])
    assert.match(stderr, /^more rows were refused; they are counted but not listed$/m)
    assert.match(stderr, COUNTS(0, 0, 0, '2,500'))
    assert.equal(code, 1)
  })

  test('replaces plants of the store by those of the file with --mode update', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'before.csv'), manyPlants(10))
    const changed = manyPlants(12).map((plant) => (plant.id < 3n ? { ...plant, name: 'changed' } : plant))
    writePlantFile(join(folder, 'after.csv'), changed)
    const store = ['--store', 'sqlite:plants.db']
    await command(['import', 'before.csv', ...store], { cwd: folder })
    const { code, stderr } = await command(['import', 'after.csv', '--mode', 'update', ...store], { cwd: folder })
    assert.match(stderr, COUNTS(2, 3, 7, 0))
    assert.equal(code, 0)
    assert.deepEqual(plantsIn(join(folder, 'plants.db')), asMap(changed))
  })

  test('prints the same report and stores nothing with --dry-run', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'before.csv'), manyPlants(10))
    writePlantFile(join(folder, 'after.csv'), [...manyPlants(10, 5), { id: 12n, name: 'another', tag: undefined }])
    const store = ['--store', 'sqlite:plants.db']
    const none = await command(['import', 'before.csv', '--dry-run', ...store], { cwd: folder })
    assertEnded(none, 1, /store plants\.db: it does not exist/)
    await command(['import', 'before.csv', ...store], { cwd: folder })
    const before = plantsIn(join(folder, 'plants.db'))
    const dry = await command(['import', 'after.csv', '--dry-run', ...store], { cwd: folder })
    const said = /^dry run, nothing was stored: 5 added, 0 updated, 5 unchanged, 1 refused;/m
    assertEnded(dry, 1, said, /^line 12: error 40901: /m)
    assert.deepEqual(plantsIn(join(folder, 'plants.db')), before)
  })

  test('prints only errors with --quiet', async (t) => {
    const folder = tempFolder(t)
    writePlantFile(join(folder, 'plants.csv'), PLANTS)
    const args = ['import', 'plants.csv', '--quiet', '--store', 'sqlite:plants.db']
    assert.deepEqual(await command(args, { cwd: folder }), { code: 0, stdout: '', stderr: '' })
    writePlantFile(join(folder, 'plants.csv'), [{ id: 7n, name: 'another', tag: undefined }])
    assert.match((await command(args, { cwd: folder })).stderr, /^line 2: error 40901: .*\nSome rows were refused/)
  })
})

const CSV = textOf('csv', PLANTS)
const CUT = gzipSync(CSV).subarray(0, -20)

/** The case, the name and the content of each refused file, and the message. */
const BAD_FILES: readonly (readonly [what: string, name: string, bytes: Buffer | string | undefined, says: RegExp])[] =
  [
    ['does not exist', 'plants.csv', undefined, /^plantstore: plants\.csv: there is no such file or folder\n$/],
    ['is named .gz but not compressed', 'plants.csv.gz', CSV, /it is not a gzip file, or it is damaged/],
    ['is compressed but not named .gz', 'plants.csv', gzipSync(CSV), /it is a gzip file; add --gzip/],
    ['is compressed and truncated', 'plants.csv.gz', CUT, /the gzip file is truncated/],
    ['is an empty CSV file', 'plants.csv', '', /error 40001: the sheet has no cells/],
    [
      'has control characters in its name',
      'a\u001b[31m\u202eb.csv',
      undefined,
      /^\w+: a\\u\{1b\}\[31m\\u\{202e\}b\.csv: /,
    ],
  ]

suite('plantstore import refuses a file that', () => {
  for (const [what, name, bytes, says] of BAD_FILES) {
    test(what, async (t) => {
      const folder = tempFolder(t)
      if (bytes !== undefined) writeFileSync(join(folder, name), bytes)
      const { code, stdout, stderr } = await command(['import', name, '--store', 'sqlite:plants.db'], { cwd: folder })
      assert.match(stderr, says)
      assert.doesNotMatch(stderr, /^\s+at /m, 'no stack')
      assert.deepEqual([code, stdout], [1, ''])
    })
  }

  test('is a folder', async (t) => {
    const folder = tempFolder(t)
    const outcome = await command(['import', folder, '--format', 'csv'], { cwd: folder })
    assertEnded(outcome, 1, /^plantstore: .*: it is a folder\n$/)
    assert.deepEqual(snapshot(folder), {})
  })
})
