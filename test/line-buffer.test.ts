import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineBuffer } from '../src/cli/line-buffer.ts'

test('a line buffer gives back its lines as UTF-8, in their order, and is empty then', () => {
  const lines = new LineBuffer()
  const texts = ['a\n', 'Ölbaum 橄欖樹 🌿\n', `${'ż'.repeat(100_000)}\n`, '\n', `${'x'.repeat(500_000)}\n`, 'b\n']
  for (const text of texts) lines.add(text)
  assert.equal(lines.length, texts.join('').length)
  assert.equal(lines.take().toString('utf8'), texts.join(''))
  assert.equal(lines.length, 0)
  lines.add('c\n')
  assert.equal(lines.take().toString('utf8'), 'c\n')
  assert.equal(lines.take().length, 0)
})

test('lines that were taken stay as they are while others are added', () => {
  const lines = new LineBuffer()
  lines.add('first\n')
  const taken = lines.take()
  lines.add('second\n')
  assert.equal(taken.toString('utf8'), 'first\n')
})
