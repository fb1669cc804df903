import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ROW_LIMIT } from '../../src/import/batch.ts'
import { csvRow } from '../../src/import/csv.ts'
import { pluck } from '../support/pluck.ts'
import { readAll } from './support.ts'

const HEADER = 'id,name,tag\n'
const plant = (id: bigint, name: string, tag?: string) => ({ id, name, tag })

suite('a CSV file', () => {
  test('has a header and a plant per row; rows end with LF or CRLF, which the last row may omit', async () => {
    for (const end of ['\n', '\r\n']) {
      const { plants, refused, fault } = await readAll('csv', ['id,name,tag', '1,Fern,shade', '-2,Moss,'].join(end))
      assert.deepEqual(plants, [
        [2, plant(1n, 'Fern', 'shade')],
        [3, plant(-2n, 'Moss')],
      ])
      assert.deepEqual([refused, fault], [[], undefined])
    }
  })

  test('has its columns in any order, and may omit the tag', async () => {
    assert.deepEqual((await readAll('csv', 'tag,id,name\nx,1,a\n')).plants, [[2, plant(1n, 'a', 'x')]])
    assert.deepEqual((await readAll('csv', '"name",id\na,1\n')).plants, [[2, plant(1n, 'a')]])
  })

  test('may name its columns in any case and with blanks, and end with columns without names', async () => {
    const cased = ['ID,Name,Tag', ' id ,\u00a0NAME, Tag ', '"Id"," name ",TAG']
    for (const header of [...cased, 'id,name,tag,,', 'id,name,tag, ,""']) {
      const { plants, refused, fault } = await readAll('csv', `${header}\n1,a,b\n2,c,d,,\n3,e,,,""\n`)
      assert.deepEqual([refused, fault], [[], undefined], header)
      const read = [plant(1n, 'a', 'b'), plant(2n, 'c', 'd'), plant(3n, 'e')]
      assert.deepEqual(pluck(plants, 1), read, header)
    }
  })

  test('separates cells like its header: by commas, semicolons or tabs', async () => {
    for (const by of [',', ';', '\t']) {
      const others = [',', ';', '\t'].filter((other) => other !== by).join('')
      const file = [`id${by}name${by}tag`, `1${by}a${others}${by}"x${by}y"`, `${by}${by}`, `2${by}b${by}`].join('\r\n')
      const { plants, refused, fault } = await readAll('csv', file)
      assert.deepEqual([refused, fault], [[], undefined])
      assert.deepEqual(plants, [
        [2, plant(1n, `a${others}`, `x${by}y`)],
        [4, plant(2n, 'b')],
      ])
      for (const first of [`sep=${by}`, `SEP=${by}`, `"sep=${by}"`]) {
        const again = await readAll('csv', `${first}\r\n${file}`)
        assert.deepEqual(again, { ...again, fault: undefined, plants: plants.map(([line, each]) => [line + 1, each]) })
      }
    }
  })

  test('is refused if its header differs, and the refusal quotes the header', async () => {
    const wrong: readonly [header: string, found: string][] = [
      ['1,Fern,shade', 'its first row has "1", "Fern", "shade", so there is no header'],
      ['{"id":1}', 'its first row has "{"id":1}", which looks like NDJSON'],
      ['id,name,tag,note', 'it has the unknown column "note"'],
      ['id,name,tag,,note', 'it has the unknown columns "", "note"'],
      ['id,Name,name', 'the column name occurs twice'],
      ['id,tag', 'the column name is missing'],
      [JSON.stringify('id,name\n1,Fern\n'), 'the file is one JSON text; send it raw'],
      ['plant,genus', 'its first row has "plant", "genus"'],
      ['id:name:tag', 'its first row has "id:name:tag"'],
      ['name', 'the column id is missing'],
      [`id,name${',x'.repeat(999)}`, 'it has 1001 columns'],
      ['a\u001bb,2,3,4,5,6,7', 'its first row has "a\\u{1b}b", "2", "3", "4", "5" and 2 more'],
      ['a'.repeat(1000), `its first row has "${'a'.repeat(40)}…"`],
      ['id,name;tag', 'it separates columns by commas and by semicolons'],
      ['id,name\r1,a\r2,b', 'its lines end by CR alone; save the file as CSV UTF-8'],
      ['sep=;\nid,name', 'its first row has "id,name"'],
      ['sep=,\nsep=,', 'its first row has "sep="'],
      ['"id"x,name', 'it has the unknown column ""id"x"; the column id is missing; a quotation mark is misplaced'],
    ]
    for (const [header, found] of wrong) {
      const { plants, fault } = await readAll('csv', `${header}\n1,a,b\n`)
      assert.deepEqual(plants, [])
      const rule = 'the first row must name the columns id, name and optionally tag'
      assert.equal(fault, `40001 the header is not valid: ${found}; ${rule}`, header)
    }
    for (const empty of ['', '\n\n', '\ufeff', ',,\r\n;;\r\n', 'sep=;\r\n']) {
      assert.match((await readAll('csv', empty)).fault ?? '', /^40001 the file has no header/)
    }
  })

  test('has ids with leading zeros and with blanks around them', async () => {
    const cells = ['007', ' 7', '7\t', '\u00a07 ', '" 7 "', '-007', '-0', `${'0'.repeat(100)}9223372036854775807`]
    const { plants, refused } = await readAll('csv', `id,name\n${cells.map((cell) => `${cell},a\n`).join('')}`)
    assert.deepEqual(refused, [])
    assert.deepEqual(pluck(pluck(plants, 1), 'id'), [7n, 7n, 7n, 7n, 7n, -7n, 0n, 2n ** 63n - 1n])
  })

  test('distinguishes an absent tag from an empty tag', async () => {
    assert.deepEqual((await readAll('csv', `${HEADER}1,a,\n2,a,""\n3,,\n4,"",""\n`)).plants, [
      [2, plant(1n, 'a')],
      [3, plant(2n, 'a', '')],
      [4, plant(3n, '')],
      [5, plant(4n, '', '')],
    ])
  })

  test('keeps every character of texts: spaces, quotes, commas, line ends, formulas', async () => {
    const file = `${HEADER}1," a ", b \n2,"He said ""hi"", twice",""""\n3,=1+1,@x\n4,"a\r\nb\nc\rd",é\u2028😀\n5,a\rb,\ufeff\n6,-1,+1\n7,"""""",""""\n`
    const { plants, refused } = await readAll('csv', file)
    assert.deepEqual(plants, [
      [2, plant(1n, ' a ', ' b ')],
      [3, plant(2n, 'He said "hi", twice', '"')],
      [4, plant(3n, '=1+1', '@x')],
      [5, plant(4n, 'a\r\nb\nc\rd', 'é\u2028😀')],
      [8, plant(5n, 'a\rb', '\ufeff')],
      [9, plant(6n, '-1', '+1')],
      [10, plant(7n, '""', '"')],
    ])
    assert.deepEqual(refused, [])
  })

  test('may begin with a byte order mark, and contain blank lines', async () => {
    for (const pieces of [1, 2, 3, 100]) {
      const { plants, refused } = await readAll('csv', `\ufeff\n"id",name\n\n \t\r\n1,a\n\n`, { pieces })
      assert.deepEqual([plants, refused], [[[5, plant(1n, 'a')]], []])
    }
  })
})

suite('a row of a CSV file is refused alone', () => {
  const refusals = async (...rows: (string | Buffer)[]) => {
    const file = Buffer.concat(
      [HEADER, ...rows.flatMap((row) => [row, '\n']), '99,last,'].map((part) => Buffer.from(part)),
    )
    const { plants, refused, fault } = await readAll('csv', file)
    assert.deepEqual([fault, plants.map(([, { id }]) => id)], [undefined, [99n]])
    return refused.map(([, error, message]) => `${error} ${message}`)
  }

  test('if its id is not a plain integer in range', async () => {
    const spellings = ['x', '1.0', '+1', '0x1', '--1', '- 1', '1 2', '１']
    for (const [i, refusal] of (await refusals(...spellings.map((id) => `${id},a,b`))).entries()) {
      assert.equal(refusal, `40002 id must be an integer in plain digits, such as 7 or -7, not "${spellings[i]}"`)
    }
    for (const refusal of await refusals('1e3,a,b', '9.22E+18,a,b', '"9,22E+18",a,b')) {
      assert.match(refusal, /not "[0-9.,]+[eE]\+?[0-9]+", to which a spreadsheet program has rounded it$/)
    }
    const ends = ['9223372036854775808', '-9223372036854775809', '9'.repeat(1000)]
    for (const refusal of await refusals(...ends.map((id) => `${id},a,b`))) {
      const pattern = /^40002 id must be from -9223372036854775808 to 9223372036854775807, and not "-?9[0-9]{18,39}…?"$/
      assert.match(refusal, pattern)
    }
    const required = '40002 id is required'
    assert.deepEqual(await refusals(',a,b', '"",a,b', ' ,a,b'), [required, required, required])
  })

  test('if it has another number of cells', async () => {
    assert.deepEqual(await refusals('1,a,b,c', '1', ',,,x', '1,a,b,,,"c,d"'), [
      '40002 the row must have 3 cells, like the header; it has 4, and "c" has no column',
      '40002 the row must have 3 cells, like the header; it has 1',
      '40002 the row must have 3 cells, like the header; it has 4, and "x" has no column',
      '40002 the row must have 3 cells, like the header; it has 6, and "c,d" has no column',
    ])
    assert.match((await refusals('1,a,b,é'))[0] ?? '', /"é" has no column/)
  })

  test('if a text contains U+0000 or is not UTF-8', async () => {
    assert.deepEqual(await refusals('x,a\0,\0b'), [
      '40002 id must be an integer in plain digits, such as 7 or -7, not "x"; name must not contain U+0000 or a lone surrogate, as "a\\u{0}" does; tag must not contain U+0000 or a lone surrogate, as "\\u{0}b" does',
    ])
    const bytes = [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80]]
    for (const wrong of bytes) {
      const [refusal = ''] = await refusals(Buffer.from([0x31, 0x2c, ...wrong, 0x2c]))
      const pattern = /^40001 the row is not valid UTF-8; as Windows-1252 it has ".+"\. Save the file as CSV UTF-8$/
      assert.match(refusal, pattern)
    }
    const [refusal = ''] = await refusals(Buffer.from('1,Caf\xe9,', 'latin1'))
    assert.match(refusal, /as Windows-1252 it has "Café"/)
  })

  test('if a quotation mark is misplaced', async () => {
    const rows = ['1,"a"b,x', '1,"a" ,x', '1, "a",x', '1,a",x', '1,"He said "hi", twice",x', '1,"a""b"c,x']
    const all = await refusals(...rows)
    assert.equal(all.length, rows.length)
    for (const refusal of all) assert.match(refusal, /^40001 a quotation mark is misplaced/)
  })
})

suite('a CSV file whose rows have no certain end', () => {
  test('has a refusal for each line from the quotation mark on that is never closed', async () => {
    const { plants, refused, fault } = await readAll('csv', `${HEADER}1,a,b\n2,"a,b\n3,a,b\n\n5,a,b\n`)
    assert.deepEqual([plants, fault], [[[2, plant(1n, 'a', 'b')]], undefined])
    const reaches = 'the quotation marks of the row at line 3 reach over this line: one of them is not closed'
    assert.deepEqual(pluck(refused, 0), [3, 4, 6])
    assert.deepEqual(pluck(refused, 1), [40001, 40001, 40001])
    assert.match(refused[0]?.[2] ?? '', /^a quotation mark is not closed: put a text/)
    assert.deepEqual(pluck(refused.slice(1), 2), [reaches, reaches])
  })

  test('has a refusal for each line of a row larger than the limit, and for no other', async () => {
    const row = `1,${'a'.repeat(1000)},${'b'.repeat(200)}`.padEnd(ROW_LIMIT, ' ')
    const file = `${HEADER}${row}\n2,"a,b\n${'3,a,b\n'.repeat(12_000)}"\n4,a,b\n`
    for (const pieces of [7, 1000, 1_000_000]) {
      const { plants, refused, fault } = await readAll('csv', file, { pieces })
      assert.deepEqual([plants, fault], [[[12_005, plant(4n, 'a', 'b')]], undefined])
      const [first, second, third] = refused
      assert.deepEqual(first, [2, 40002, 'tag must have at most 200 characters'])
      assert.match(second?.[2] ?? '', /^the row is larger than 65536 bytes, or has an unclosed quotation mark$/)
      const pattern = /^the quotation marks of the row at line 3 reach over this line: that row is larger/
      assert.match(third?.[2] ?? '', pattern)
      const expected = Array.from({ length: 12_003 }, (_, i) => [i + 2, i === 0 ? 40002 : 41301])
      assert.deepEqual(pluck(refused, 0, 1), expected)
      const before = await readAll('csv', file.replace(' ', '  '), { pieces })
      assert.equal(before.refused[0]?.[2], 'the row is larger than 65536 bytes')
    }
  })

  test('but not at a row whose name or tag alone is too long, which is refused', async () => {
    const units = ['a', '\u0001', '"', 'é', '\u2028', '😀']
    const rows = units.flatMap((unit) => [
      { id: 1n, name: unit.repeat(1000), tag: unit.repeat(200) },
      { id: 2n, name: unit.repeat(1001), tag: unit.repeat(201) },
    ])
    const { plants, refused, fault } = await readAll('csv', `id,name,tag\n${rows.map(csvRow).join('')}`)
    assert.equal(fault, undefined)
    const names = units.map((unit) => [1n, unit.repeat(1000)])
    assert.deepEqual(pluck(pluck(plants, 1), 'id', 'name'), names)
    const message = 'name must have at most 1000 characters; tag must have at most 200 characters'
    assert.deepEqual(pluck(refused, 1, 2), Array(units.length).fill([40002, message]))
  })

  test('refuses a row with more separators than the limit has bytes, and a header', async () => {
    const commas = ','.repeat(70_000)
    const { refused } = await readAll('csv', `${HEADER}${commas}`, { pieces: 1000 })
    assert.deepEqual(refused, [[2, 41301, 'the row is larger than 65536 bytes']])
    const { fault } = await readAll('csv', commas, { pieces: 1000 })
    assert.equal(fault, '41301 the header is not valid: the row is larger than 65536 bytes')
  })
})

suite('a short row of a CSV file', () => {
  test('has no tag if a line end follows, because spreadsheets omit empty cells at the end', async () => {
    const { plants, refused } = await readAll('csv', 'id,name,tag\r\n1,a\r\n2,b,x\r\n')
    assert.deepEqual(plants, [
      [2, plant(1n, 'a')],
      [3, plant(2n, 'b', 'x')],
    ])
    assert.deepEqual(refused, [])
  })

  test('is refused at the end of the file, because the file may be truncated', async () => {
    const { plants, refused } = await readAll('csv', 'id,name,tag\r\n1,a,b\r\n2,Fer')
    assert.deepEqual(plants, [[2, plant(1n, 'a', 'b')]])
    assert.deepEqual(refused, [[3, 40002, 'the row must have 3 cells, like the header; it has 2']])
  })

  test('is refused without a name or an id', async () => {
    const { plants, refused } = await readAll('csv', 'tag,name,id\nx,a\ny\nz,b,3\n')
    assert.deepEqual([plants, refused.map(([line]) => line)], [[[4, plant(3n, 'b', 'z')]], [2, 3]])
  })
})
