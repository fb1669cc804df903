// The reporter of `npm test`: that of Node.js, with the dearest files and what was not tested before its summary.
import { readFileSync } from 'node:fs'
import { compose, Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'
import { TIMES_VARIABLE } from './processor-time.ts'
import { shortfalls, WHOLE_VARIABLE } from './shortfalls.ts'

/** How many files are named. */
const DEAREST = 10

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<unknown> {
  yield* compose(Readable.from(withDearest(source)), new spec())
}

async function* withDearest(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  let isSummary = false
  for await (const event of source) {
    // The summary of the run, and not a word of a test, has no file.
    if (!isSummary && event.type === 'test:diagnostic' && event.data.file === undefined) {
      isSummary = true
      const { line, isWhole } = shortfalls()
      for (const message of [...dearest(), line]) yield { ...event, data: { ...event.data, message } }
      if (!isWhole && process.env[WHOLE_VARIABLE] === 'yes') process.exitCode = 1
    }
    yield event
  }
}

function dearest(): string[] {
  const path = process.env[TIMES_VARIABLE]
  if (path === undefined) return []
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  const files = lines.toSorted((a, b) => Number.parseFloat(b) - Number.parseFloat(a))
  const total = lines.reduce((sum, line) => sum + Number.parseFloat(line), 0)
  return [
    `${total.toFixed(0)} s of processor time in ${lines.length} files, of which the dearest are`,
    ...files.slice(0, DEAREST),
  ]
}
