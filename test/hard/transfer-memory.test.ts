import assert from 'node:assert/strict'
import { request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { programFlags } from '../../scripts/repository.ts'
import { tempFolder } from '../support/files.ts'
import { NDJSON } from '../support/import.ts'
import { isLinux, notTestedHere } from '../support/not-tested.ts'
import { Program, type Server, startServer, TOKEN } from '../support/process.ts'

const NAME = 'x'.repeat(990)
const HEADERS = { Authorization: `Bearer ${TOKEN}` }

async function importRows({ address }: Server, file: Iterable<string>): Promise<{ added: number; refused: number }> {
  const outgoing = request(`${address}/plants/import`, {
    method: 'POST',
    headers: { ...HEADERS, 'Content-Type': NDJSON },
  })
  const answered = new Promise<string>((resolve, reject) => {
    outgoing.on('response', (incoming) => text(incoming).then(resolve, reject)).on('error', reject)
  })
  await pipeline(Readable.from(file), outgoing)
  return JSON.parse(await answered) as { added: number; refused: number }
}

/** Counts the bytes of an export. */
async function exportSize({ address }: Server): Promise<number> {
  const response = await fetch(`${address}/plants/export`, { headers: HEADERS })
  let size = 0
  for await (const piece of response.body ?? []) size += piece.length
  return size
}

function* rows(first: number, count: number): Generator<string> {
  let text = ''
  for (let id = first; id < first + count; id++) {
    text += `{"id":${id},"name":"${id} ${NAME}"}\n`
    if (text.length < 2 ** 16) continue
    yield text
    text = ''
  }
  yield text
}

/** Yields invalid rows. */
function* rubbish(count: number): Generator<string> {
  for (let written = 0; written < count; written += 1000) yield 'x\n'.repeat(1000)
}

const NOT_ELSEWHERE = 'the memory that imports and exports take, because only Linux tells it'
/** The promised bound of a process during any import and export. */
const BOUND = 300e6

test('importing and exporting through the service takes bounded memory for any number of plants', async (t) => {
  if (!isLinux) return notTestedHere(t, NOT_ELSEWHERE)
  const server = await startServer(t, tempFolder(t), [], { nodeArgs: programFlags() })
  // Fills all caches before the measurement.
  await importRows(server, rows(0, 20_000))
  await importRows(server, rubbish(50_000))
  await exportSize(server)
  const few = server.program.memory('VmHWM')
  assert.equal((await importRows(server, rows(20_000, 70_000))).added, 70_000)
  assert.equal((await importRows(server, rubbish(100_000))).refused, 100_000)
  assert.ok((await exportSize(server)) > 90e6)
  const many = server.program.memory('VmHWM')
  assert.ok(many - few < 60e6, `${many - few} bytes more for 90 MB of plants than for 20 MB`)
  assert.ok(many < BOUND, `${many} bytes`)
})

test('importing straight into a store takes bounded memory for any number of plants', async (t) => {
  if (!isLinux) return notTestedHere(t, NOT_ELSEWHERE)
  const store = `sqlite:${join(tempFolder(t), 'plants.db')}`
  const program = new Program(t, ['import', '-', '--format', 'ndjson', '--store', store], { hasInput: true })
  const input = program.child.stdin ?? assert.fail()
  await pipeline(Readable.from(rows(0, 40_000)), input, { end: false })
  // The program has read everything except the last pieces.
  const peak = program.memory('VmHWM')
  input.end()
  const { code, stderr } = await program.outcome
  assert.match(stderr, /40,000 added/)
  assert.equal(code, 0)
  assert.ok(peak < BOUND, `${peak} bytes`)
})
