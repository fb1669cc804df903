import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Compressor } from '../../src/http/answer/compression.ts'

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
