import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { tempFolder } from './support/files.ts'
import { NDJSON } from './support/import.ts'
import { isLinux, notTestedHere } from './support/not-tested.ts'
import { type Server, startServer, TOKEN } from './support/process.ts'

const NAME = 'x'.repeat(1000)
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

/** The bytes of an export, counted as they come. */
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

/** The most memory that a program ever had, in bytes. */
function peakOf({ program }: Server): number {
  const status = readFileSync(`/proc/${program.child.pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

test('importing and exporting takes the same memory for any number of plants', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the memory that imports take, because only Linux tells it')
  // As npm start does.
  const server = await startServer(t, tempFolder(t), [], { nodeArgs: ['--max-semi-space-size=8'] })
  await importRows(server, rows(0, 10_000))
  await exportSize(server)
  const few = peakOf(server)
  assert.equal((await importRows(server, rows(10_000, 190_000))).added, 190_000)
  // Rows that are refused leave nothing behind either.
  assert.equal(
    (
      await importRows(
        server,
        Array.from({ length: 300 }, () => 'x\n'.repeat(1000)),
      )
    ).refused,
    300_000,
  )
  const size = await exportSize(server)
  assert.ok(size > 200e6)
  const growth = peakOf(server) - few
  assert.ok(growth < 170e6, `${growth} bytes more for 200 MB of plants than for 10 MB`)
})
