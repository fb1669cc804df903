import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { CompressedFiles } from '../../src/http/answer/compression.ts'

suite('a file that clients request repeatedly', () => {
  const file = Buffer.from('plants '.repeat(1000))

  test('is compressed once for each coding', async () => {
    const files = new CompressedFiles()
    const [first, second] = await Promise.all([files.compress(file, 'br'), files.compress(file, 'br')])
    assert.equal(first, second, 'both calls return the same buffer')
    assert.equal(await files.compress(file, 'br'), first)
    assert.deepEqual(brotliDecompressSync(first), file)
    assert.deepEqual(gunzipSync(await files.compress(file, 'gzip')), file)
  })

  test('is told apart from another file', async () => {
    const files = new CompressedFiles()
    const other = Buffer.from('tags '.repeat(1000))
    await files.compress(file, 'gzip')
    assert.deepEqual(gunzipSync(await files.compress(other, 'gzip')), other)
  })
})
