import { MAX_NAME } from '../src/domain/plant.ts'
import { BODY_LIMIT } from '../src/http/request/exchange.ts'

/** A request of the largest size, in a shape that takes long to parse. */
export interface Shape {
  readonly name: string
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'GET'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** Bytes of an import with many rows. */
const FILE = 2 ** 20

const filled = (start: string, part: (i: number) => string, end: string, length = BODY_LIMIT): Buffer => {
  const parts = [start]
  let used = start.length + end.length
  for (let i = 0; ; i++) {
    const next = part(i)
    used += Buffer.byteLength(next)
    if (used > length) return Buffer.from([...parts, end].join(''))
    parts.push(next)
  }
}

const create = (name: string, body: Buffer): Shape => ({
  name: `create: ${name}`,
  method: 'POST',
  path: '/plants',
  headers: { 'Content-Type': 'application/json' },
  body,
})
const plant = (name: string, start: string, part: (i: number) => string, end: string) =>
  create(name, filled(start, part, end))
/** @param unit a character, or an escape of one */
const named = (name: string, id: number, unit: string) =>
  create(name, Buffer.from(`{"id":${id},"name":"${unit.repeat(MAX_NAME)}"}`))
const members = (name: string, member: (i: number) => string) =>
  plant(name, '{"id":1,"name":"x"', (i) => `,${member(i)}`, '}')
const imported = (type: string, name: string, start: string, part: (i: number) => string, end = ''): Shape => ({
  name: `import: ${name}`,
  method: 'POST',
  path: '/plants/import',
  headers: { 'Content-Type': type },
  body: filled(start, part, end, FILE),
})
const csv = (name: string, part: (i: number) => string, start = 'id,name,tag\n', end = '') =>
  imported('text/csv', name, start, part, end)
const ndjson = (name: string, part: (i: number) => string) => imported('application/x-ndjson', name, '', part)
const get = (name: string, path: string, headers: Readonly<Record<string, string>> = {}): Shape => ({
  name: `get: ${name}`,
  method: 'GET',
  path,
  headers,
})

const word = (i: number): string => (i * 2654435761).toString(36)

/** All shapes. Their ids are negative, which no other load uses. */
export const SHAPES: readonly Shape[] = [
  members('different members', (i) => `"k${word(i)}":0`),
  members('different escaped members', (i) => `"\\n${word(i)}":0`),
  members('members of numbers', (i) => `"${i * 7919}":0`),
  members('one member again and again', () => '"a":0'),
  members('empty names', () => '"":0'),
  create(
    'the id behind all members, as 2.0',
    filled('{"name":"x"', (i) => `,"k${i}":0`, ',"id":-2.0}'),
  ),
  plant('an id of digits alone', '{"name":"x","id":', () => '9'.repeat(100), '}'),
  plant('an id of zeros alone', '{"name":"x","id":-7.', () => '0'.repeat(100), '}'),
  create('an id with a huge exponent', Buffer.from('{"name":"x","id":1e999999999}')),
  plant('an exponent of digits alone', '{"name":"x","id":1e', () => '9'.repeat(100), '}'),
  plant('numbers', '{"id":-1,"name":"x","a":[0', () => ',1e-300', ']}'),
  plant('empty objects', '{"id":-1,"name":"x","a":[0', () => ',{}', ']}'),
  plant('nested objects', '{"id":-1,"name":"x","a":[0', (i) => `,{"${word(i)}":{"b":[]}}`, ']}'),
  plant('nesting without end', '{"id":-1,"name":"x","a":', () => '[', ''),
  plant('white space', '{"id":-1,"name":"x"', () => ' \n\t\r'.repeat(10), '}'),
  named('escapes', -3, '\\u0041'),
  named('short escapes', -4, '\\n'),
  named('no ASCII', -5, 'é'),
  named('combining marks', -6, '\u0344'),
  named('ligatures', -8, '\ufdfa'),
  plant('different words', '{"id":-9,"name":"', (i) => `${word(i)} `, '"}'),
  named('lone surrogates', -1, '\\ud800'),
  plant('a syntax fault at the end', '{"id":-1,"name":"', () => '\\n', '",}'),
  plant('lines before a syntax fault', '', () => '\n', '}'),
  {
    name: 'patch: escaped members',
    method: 'PATCH',
    path: '/plants/1',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: filled('{"name":"x"', (i) => `,"\\n${word(i)}":0`, '}'),
  },
  {
    name: 'put: an id of 1.000…',
    method: 'PUT',
    path: '/plants/1',
    headers: { 'Content-Type': 'application/json' },
    body: filled('{"name":"x","id":1.', () => '0'.repeat(100), '}'),
  },
  csv('blank lines', () => '\n'),
  csv('blank lines before a header', () => '\n', '', 'id,name\n'),
  csv('empty rows', () => ',,\r\n'),
  csv('refused rows', () => 'x,a,b\n'),
  csv('rows of one byte', () => 'x\n'),
  csv('rows that are there already', () => '1,a,b\n'),
  csv('rows that are not UTF-8', () => '1,\u0080\n'),
  csv('one row of quotation marks', () => '""', 'id,name,tag\n1,"', '"'),
  csv('one row of columns', () => ',', 'id,name,tag\n1,a'),
  csv('a header of columns', () => ',x', 'id,name'),
  csv('stray quotation marks', () => 'a"b,"c"d\n'),
  csv('line feeds in quotation marks', () => '1,"\n\n\n\n"\n'),
  imported('text/csv', 'UTF-16', '\ufeffid,name\n', (i) => `${-1000 - (i % 50)},a\n`),
  ndjson('blank lines', () => '\n'),
  ndjson('empty objects', () => '{}\n'),
  ndjson('refused rows', () => '{"id":"x","name":null}\n'),
  ndjson('syntax faults', () => '{\n'),
  ndjson('escaped members', () => '{"\\u0069d":-1,"n\\u0061me":"x"}\n'),
  ndjson('one row without end', () => '[[[[[[[['),
  get('a query of parameters', `/plants?${'a=b&'.repeat(3900)}`),
  get('a query of tags', `/plants?${'tag=a&'.repeat(2600)}`),
  get('a query of percent escapes', `/plants?q=${'%C3%A9%20'.repeat(1700)}`),
  get(
    'a query of different words',
    `/plants?q=${Array.from({ length: 2200 }, (_, i) => word(i))
      .join('+')
      .slice(0, 15_000)}`,
  ),
  get('a long cursor', `/plants?cursor=${'A'.repeat(15_000)}`),
  get('a path of percent escapes', `/plants/${'%31'.repeat(5000)}`),
  get('a list of entity tags', '/plants/1', { 'If-None-Match': '"a",'.repeat(3900) }),
  get('a list of commas', '/plants/1', { 'If-None-Match': `${','.repeat(15_000)}x` }),
  get('a list of media types', '/plants/1', { Accept: 'a/b;q=0.1,'.repeat(1500) }),
]
