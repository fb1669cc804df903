import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ClientAddresses, readNetworks } from '../../src/base/network.ts'
import { onOneLine, printable } from '../../src/base/printable.ts'
import { AppError } from '../../src/domain/errors.ts'
import { hash64, newPlantJson } from '../../src/domain/plant.ts'
import { compareCodePoints, filterOf, fold, isBlank, isWord, sortKey, words } from '../../src/domain/plant-query.ts'
import {
  preferredCoding,
  preferredType,
  readEntityTags,
  readMediaType,
  readQueryString,
} from '../../src/http/request/head.ts'
import { CsvRows, csvLine, integerOf } from '../../src/import/csv-rows.ts'
import { textOf } from '../../src/import/encoding.ts'
import { guess } from '../../src/import/sheet/guess.ts'
import { headerIn } from '../../src/import/sheet/header.ts'
import { plantRows } from '../../src/import/sheet/sheet.ts'
import { int64Of, parsePlant, readJsonBody } from '../../src/json/body.ts'
import { textArray, tsvector } from '../../src/postgres/rows.ts'
import { indexedWords, wordQuery } from '../../src/postgres/search-terms.ts'
import { pastedSheet } from '../../web/src/import/pasted.ts'

/**
 * Work in one call whose time grows faster than the text holds the event loop, or the thread of the index, for a text
 * that one request brings. The bound is the ratio of two sizes, in processor time of this thread, so it holds on a busy
 * machine: linear work takes eight times as long for eight times the text, quadratic work 64 times.
 */
const [SHORT, LONG, BOUND] = [4096, 8 * 4096, 24]
/** Milliseconds. Quadratic work takes longer, on SHORT and on LONG. */
const [SHORT_TIME, LONG_TIME] = [2, 40]

function time(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** The least of three times: the first ones include the compiler, others a collection of garbage. */
const leastTime = (work: () => unknown): number => Math.min(...[1, 2, 3].map(() => time(work)))

/** Whether work on a text of a unit, repeated, is linear. */
function isLinear(work: (text: string) => unknown, unit: string, [start, end]: readonly [string, string]): boolean {
  const [short, long] = [SHORT, LONG].map((size) => start + unit.repeat(size / unit.length) + end) as [string, string]
  if (time(() => work(short)) < SHORT_TIME) return true
  // A collection of garbage may take longer than the work; it hardly does so in each attempt.
  return [1, 2, 3].some(() => {
    const took = leastTime(() => work(long))
    return took < LONG_TIME || took < BOUND * leastTime(() => work(short))
  })
}

/** Refusals are answers too. */
function outcome(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    assert.ok(error instanceof AppError)
    return error
  }
}

const proxies = new ClientAddresses(readNetworks('127.0.0.1,::1'))
const rowsOf = (text: string) => {
  const rows = new CsvRows(Number.POSITIVE_INFINITY)
  return [...rows.divide(text), ...rows.end()]
}
const ofPlant = (work: (plant: { id: bigint; name: string; tag: string }) => unknown) => (text: string) =>
  work({ id: 1n, name: text, tag: text })

/** Each function that takes a whole text of a client. */
const FUNCTIONS: Readonly<Record<string, (text: string) => unknown>> = {
  fold,
  words,
  sortKey,
  isBlank,
  isWord,
  'filterOf a search': (text) => filterOf({ tag: [text], q: text }),
  'comparing names': (text) => compareCodePoints(text, `${text}!`),
  'the version of a plant': hash64,
  printable,
  onOneLine,
  'writing JSON': ofPlant(newPlantJson),
  'reading JSON': (text) => parsePlant(readJsonBody(Buffer.from(`{"id":1,"name":${JSON.stringify(text)}}`))),
  'reading JSON of escapes': (text) => {
    const escaped = Array.from(text, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    return parsePlant(readJsonBody(Buffer.from(`{"${escaped}":[],"id":1,"name":"${escaped}"}`)))
  },
  'reading any JSON': (text) => readJsonBody(Buffer.from(text)),
  'reading any text of JSON': (text) => readJsonBody(Buffer.from(`{"id":1,"name":"${text}"}`)),
  'reading a number': int64Of,
  'reading a cell of an id': integerOf,
  'reading CSV': rowsOf,
  'writing CSV': (text) => csvLine([text, text]),
  'decoding a cell': (text) => textOf(Buffer.from(text).toString('latin1')),
  'words of PostgreSQL': ofPlant((plant) => tsvector(indexedWords(plant, sortKey(plant.name)))),
  'a search of PostgreSQL': (text) => wordQuery(words(text)),
  'texts for PostgreSQL': (text) => textArray([text]),
  Accept: (text) => preferredType(text, ['application/json', 'text/csv']),
  'Accept-Encoding': preferredCoding,
  'Content-Type': readMediaType,
  'parameters of Content-Type': (text) => readMediaType(`a/b${text}!`),
  'If-Match': readEntityTags,
  'a query': readQueryString,
  Forwarded: (text) => proxies.of('127.0.0.1', { forwarded: text }),
  'X-Forwarded-For': (text) => proxies.of('127.0.0.1', { 'x-forwarded-for': text }),
  'pasted rows': (text) => pastedSheet(`x\n${text}`),
  'cells in typographic marks': (text) => [
    ...plantRows([{ ...ROW, cells: ['“', ...text] }], { separator: ',', hasCurlyMarks: true, header: 0 }),
  ],
  'the header of a sheet': (text) => {
    const rows = [text, 'x'].map((cell, i) => ({ ...ROW, number: i + 1, cells: [cell, cell] }))
    return [headerIn(rows), guess([text, 'b'], rows, true), guess([text, 'b'], rows, false)]
  },
}
const ROW = { line: 1, number: 1, cells: [], isWellFormed: true, isEnded: true }

/** Texts that decompose, reorder, grow, are invisible, or end a match late, and the syntax of the formats. */
const UNITS = [
  ...`a 0 9 - aé é ß Σ Σ' İ \ufdfa 각 龍 🌵 🇩🇪 \u200d \u00ad \u0001 \u0301 \u0344 \u0323\u0301 a\u0323\u0301 \u0e33
    \uff9e\uff9f \u1f82\uff9e \u{1d165}\u{1d15e} \u3099\u0301 " "" \\ \\" "a , ; [ { [] {} "a":1, 1e 00 .0
    a=b; ;a= a/b, a/b;q=" ;for=" ;for="\\" for=1, 127.0.0.1, W/"a", %41 % &a=b + ( (a ()`.split(/ +|\n +/),
  ...[' ', '"a" ', ', ', '; ', 'x ', '\t', '\r', '\n', '\r\n'],
]
/** What comes before and after the repeated unit. */
const FRAMES: readonly (readonly [string, string])[] = [
  ['', ''],
  ['', '\u0001'],
  ['"', ''],
]

for (const [name, work] of Object.entries(FUNCTIONS)) {
  test(`${name} takes a bounded time for each character`, () => {
    for (const unit of UNITS) {
      for (const frame of FRAMES) {
        const isSo = isLinear((text) => outcome(() => work(text)), unit, frame)
        assert.ok(isSo, JSON.stringify([frame, unit]))
      }
    }
  })
}

test('a long genus beside many columns costs no more for each of them', () => {
  const timeBeside = (columns: number): number => {
    const row = { ...ROW, cells: ['\ufdfa'.repeat(19_000), ...Array.from({ length: columns }, () => 'x')] }
    return leastTime(() => guess(['Genus', ...row.cells.slice(1).map((_, i) => `c${i}`)], [row], true))
  }
  assert.ok(timeBeside(500) < 20 * timeBeside(5))
})

test('short rows below the names of many columns cost no more for each of them', () => {
  const columns = Array.from({ length: 20_000 }, (_, i) => `c${i}`)
  const timeOf = (count: number): number => {
    const rows = Array.from({ length: count }, () => ({ ...ROW, cells: ['Rosa alba', 'x'] }))
    return leastTime(() => guess(columns, rows, false))
  }
  assert.ok(timeOf(500) < 6 * timeOf(20))
})

/** A literal begins where an operand may stand. */
const LITERAL =
  /(?<=(?:[(,=:[!&|?{;]|return|=>)\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)/g

const expressionsIn = (code: string): RegExp[] =>
  Array.from(
    code.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '').matchAll(LITERAL),
    ([, source = '', flags = '']) => new RegExp(source, flags),
  )

/** The characters that an expression names, a few others, and pairs of them. */
function unitsOf(source: string): string[] {
  const named = source.replaceAll(/\\[pP]\{.*?\}|\\[dswbDSWB]|\\/g, '').replaceAll(/[*+?^$|]/g, '')
  const characters = [...new Set(['a', '0', ' ', '\u0301', ...named])].slice(0, 14)
  return [...characters, ...characters.flatMap((a) => characters.filter((b) => b !== a).map((b) => a + b))]
}

const startOf = (source: string): string => /^\^?((?:[\w" -]|\\[/."])*)/.exec(source)?.[1]?.replaceAll('\\', '') ?? ''

test('JSON of many members takes a bounded time for each', () => {
  for (const start of ['a', '\\"', '\\u0061']) {
    const members = (text: string) => Array.from(text, (_, i) => `"${start}${i}":1`).join()
    const isSo = isLinear((text) => readJsonBody(Buffer.from(`{${members(text)}}`)), 'a', ['', ''])
    assert.ok(isSo, start)
  }
})

suite('regular expressions', () => {
  /** Those whose whole text is short, or the operator's own. */
  const BOUNDED: Readonly<Record<string, string>> = {
    'src/base/printable.ts': 'the digits of a number',
    'src/settings/identity-provider.ts': 'a setting',
    'src/settings/webhooks.ts': 'a setting',
    'client/src/transport.ts': 'the address that a program gives its own client',
  }
  const ROOT = fileURLToPath(new URL('../..', import.meta.url))
  const found = globSync(['src/**/*.ts', 'web/src/**/*.{ts,tsx}', 'client/src/**/*.ts'], { cwd: ROOT })
    .filter((path) => !(path in BOUNDED))
    .flatMap((path) =>
      expressionsIn(readFileSync(join(ROOT, path), 'utf8')).map((expression) => ({ path, expression })),
    )

  test('are all found', () => {
    assert.ok(found.length > 100)
    for (const path of Object.keys(BOUNDED)) assert.ok(expressionsIn(readFileSync(join(ROOT, path), 'utf8')).length > 0)
  })

  test('take a bounded time for each character', () => {
    for (const { path, expression } of found) {
      const { source, global } = expression
      const work = (text: string) => (global ? text.replaceAll(expression, '') : expression.test(text))
      for (const unit of unitsOf(source)) {
        for (const start of new Set(['', startOf(source)])) {
          assert.ok(
            isLinear(work, unit, [start, '\u0001']),
            `${path}: ${expression} of ${JSON.stringify([start, unit])}`,
          )
        }
      }
    }
  })
})
