import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { Compressor, compressPieces } from '../../src/http/answer/compression.ts'
import { CODINGS, type Coding } from '../../src/http/request/head.ts'
import { patch, put } from '../support/exchanges.ts'
import { boundIn } from '../support/scrape.ts'
import { emptyService, type Service, withService } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

const DECODERS: Readonly<Record<Coding, (bytes: Buffer) => Buffer>> = {
  zstd: (bytes) => zstdDecompressSync(bytes),
  br: (bytes) => brotliDecompressSync(bytes),
  gzip: (bytes) => gunzipSync(bytes),
}
const NAME = 'Mönstera '.repeat(111)

const fetched = (service: Service, path: string, headers: Record<string, string>) =>
  service.send('GET', path, { headers })

suite('an answer of a kilobyte or more', () => {
  test('is sent uncompressed while other answers take the memory for compression', async (t) => {
    const service = await withService(t, { compressionLimit: 2000 })
    await service.create({ id: 1, name: NAME })
    const asked = { 'Accept-Encoding': 'br' }
    // Node.js compresses in threads, so several requests arrive before the first answer is compressed.
    const answers = await Promise.all(Array.from({ length: 30 }, () => fetched(service, '/plants/1', asked)))
    const codings = answers.map(({ headers }) => headers['content-encoding'])
    assert.ok(codings.includes('br') && codings.includes(undefined), codings.join())
    const plain = (await fetched(service, '/plants/1', {})).bytes
    for (const { headers, bytes } of answers) {
      assert.match(String(headers.vary), /Accept-Encoding/)
      assert.deepEqual(headers['content-encoding'] === undefined ? bytes : brotliDecompressSync(bytes), plain)
    }
    const { body } = await service.send('GET', '/metrics')
    const skipped = codings.filter((coding) => coding === undefined).length
    assert.equal(boundIn(body, 'compression-limit', 'refused_total'), skipped)
    assert.equal(boundIn(body, 'compression-limit'), 0)
  })

  test('is compressed in the coding that its client asks for, and decompresses to the same text', async () => {
    const service = await emptyService()
    await service.create({ id: 1, name: NAME })
    const paths = words`
      /plants/1 /plants /plants/export /plants/export?format=csv /openapi.json /docs/page.css
    `
    for (const path of paths) {
      const plain = await fetched(service, path, {})
      assert.equal(plain.headers['content-encoding'], undefined)
      for (const coding of CODINGS) {
        const { status, headers, bytes } = await fetched(service, path, { 'Accept-Encoding': coding })
        assert.deepEqual([status, headers['content-encoding']], [200, coding], path)
        assert.match(String(headers.vary), /Accept-Encoding/)
        assert.ok(bytes.length < plain.bytes.length / 2, path)
        assert.deepEqual(DECODERS[coding](bytes), plain.bytes, path)
      }
    }
  })

  onEmpty('has a different entity tag in each coding, and preconditions accept each of them', async (service) => {
    await service.create({ id: 1, name: NAME })
    const { etag = '' } = (await service.send('GET', '/plants/1')).headers
    const gzip = { 'Accept-Encoding': 'gzip' }
    const coded = String((await service.send('GET', '/plants/1', { headers: gzip })).headers.etag)
    assert.equal(coded, etag.replace(/"$/, '-gzip"'))
    for (const tag of [etag, coded, `W/${coded}`]) {
      const again = await service.send('GET', '/plants/1', { headers: { ...gzip, 'If-None-Match': tag } })
      assert.deepEqual([again.status, again.headers.etag, again.headers['content-encoding']], [304, coded, undefined])
      const plain = await service.send('GET', '/plants/1', { headers: { 'If-None-Match': tag } })
      assert.deepEqual([plain.status, plain.headers.etag], [304, etag])
    }
    const match = { headers: { 'If-Match': coded } }
    assert.equal((await patch(service, 1, { tag: 'a' }, match)).status, 200)
    assert.equal((await put(service, 1, { name: 'late' }, match)).status, 412)
  })
})

onEmpty('shorter answers and refusals are sent uncompressed', async (service) => {
  const headers = { 'Accept-Encoding': 'gzip, br, zstd' }
  const created = await service.create({ id: 1, name: 'x' }, { headers })
  assert.deepEqual([created.body, created.headers['content-encoding']], ['{"name":"x"}', undefined])
  const name = 'x'.repeat(1000)
  const bytes = `{"name":"${name}","tag":""}`.length
  const least = await service.create({ id: 2, name, tag: 'x'.repeat(1024 - bytes) }, { headers })
  const most = await service.create({ id: 3, name, tag: 'x'.repeat(1023 - bytes) }, { headers })
  assert.deepEqual([least.headers['content-encoding'], most.headers['content-encoding']], ['zstd', undefined])
  const refused = await service.send('GET', `/plants?sort=${'x'.repeat(5000)}`, { headers })
  assert.deepEqual([refused.status, refused.headers['content-encoding']], [400, undefined])
})

suite('a compressed stream', () => {
  for (const coding of CODINGS) {
    test(`by ${coding} sends each piece before it reads the next`, async () => {
      const pieces = ['first\n', 'second\n'.repeat(10_000), '', 'last\n']
      let made = 0
      async function* source() {
        for (const piece of pieces) {
          made++
          yield piece
        }
      }
      const got: Buffer[] = []
      for await (const piece of compressPieces(source(), coding)) {
        got.push(piece)
        assert.ok(made <= got.length + 1, `${made} pieces are made, ${got.length} are out`)
      }
      assert.equal(DECODERS[coding](Buffer.concat(got)).toString(), pieces.join(''))
    })

    test(`by ${coding} closes its source when its reader stops, and passes errors of the source on`, async () => {
      let releases = 0
      async function* source() {
        try {
          yield 'first'
          throw new Error('the store is gone')
        } finally {
          releases++
        }
      }
      const stream = compressPieces(source(), coding)
      await stream.next()
      await stream.return()
      assert.equal(releases, 1)
      const failing = compressPieces(source(), coding)
      await failing.next()
      await assert.rejects(failing.next(), /the store is gone/)
      assert.equal(releases, 2)
    })
  }
})

suite('a file that clients request repeatedly', () => {
  const file = Buffer.from('plants '.repeat(1000))

  test('is compressed once for each coding', async () => {
    const compressor = new Compressor(0)
    const [first, second] = await Promise.all([
      compressor.compressFile(file, 'br'),
      compressor.compressFile(file, 'br'),
    ])
    assert.equal(first, second, 'both calls return the same buffer')
    assert.equal(await compressor.compressFile(file, 'br'), first)
    assert.deepEqual(brotliDecompressSync(first), file)
    assert.deepEqual(gunzipSync(await compressor.compressFile(file, 'gzip')), file)
  })

  test('is told apart from another file', async () => {
    const compressor = new Compressor(0)
    const other = Buffer.from('tags '.repeat(1000))
    await compressor.compressFile(file, 'gzip')
    assert.deepEqual(gunzipSync(await compressor.compressFile(other, 'gzip')), other)
  })
})
