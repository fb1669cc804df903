import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { suite, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { hashSecret, isScope, isWellFormed, makeSecret, makeTokenId, SCOPES } from '../../src/domain/token.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const valueIn = (digits: string): bigint =>
  [...digits].reduce((value, digit) => value * 62n + BigInt(DIGITS.indexOf(digit)), 0n)

suite('a secret', () => {
  test('consists of ps_, 43 base62 digits, and their CRC-32 in 6 more digits', () => {
    for (let i = 0; i < 100; i++) {
      const secret = makeSecret()
      const [, random = '', check = ''] = /^ps_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(secret) ?? []
      assert.equal(valueIn(check), BigInt(crc32(random)), secret)
      assert.ok(valueIn(random) < 2n ** 256n)
    }
  })

  test('has 256 random bits, each set about half of the time', () => {
    const secrets = Array.from({ length: 1000 }, makeSecret)
    assert.equal(new Set(secrets).size, secrets.length)
    const values = secrets.map((secret) => valueIn(secret.slice(3, 46)))
    for (let bit = 0n; bit < 256n; bit++) {
      const set = values.filter((value) => (value >> bit) & 1n).length
      // Ten standard deviations, which chance does not reach.
      assert.ok(Math.abs(set - 500) < 160, `bit ${bit} is set ${set} times in 1000`)
    }
  })

  test('has the characters of a bearer token (RFC 6750 section 2.1)', () => {
    assert.match(makeSecret(), /^[A-Za-z0-9._~+/-]+=*$/)
  })

  test('with a typing error or cut short fails its checksum', () => {
    const secret = makeSecret()
    assert.equal(isWellFormed(secret), true)
    for (let i = 3; i < secret.length; i++) {
      for (const digit of DIGITS.replace(secret.charAt(i), '')) {
        assert.equal(isWellFormed(secret.slice(0, i) + digit + secret.slice(i + 1)), false)
      }
      assert.equal(isWellFormed(secret.slice(0, i)), false)
      const [a, b] = [secret.charAt(i), secret.charAt(i + 1)]
      const swapped = secret.slice(0, i) + b + a + secret.slice(i + 2)
      assert.equal(isWellFormed(swapped), swapped === secret)
    }
    assert.equal(isWellFormed(`${secret}0`), false)
  })

  test('of another form is malformed', () => {
    for (const other of ['', 'ps_', 'the-configured-secret', makeSecret().toUpperCase(), ` ${makeSecret()}`]) {
      assert.equal(isWellFormed(other), false, other)
    }
  })

  test('is stored as its SHA-256', () => {
    assert.deepEqual(hashSecret('abc'), createHash('sha256').update('abc').digest())
    assert.equal(hashSecret('abc').toString('hex').slice(0, 16), 'ba7816bf8f01cfea')
  })
})

test('the id of a token is short, random and unique', () => {
  const ids = Array.from({ length: 1000 }, makeTokenId)
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^tok_[0-9A-Za-z]{11}$/)
})

test('the parser of scopes accepts exactly the known scopes', () => {
  assert.deepEqual(SCOPES, ['plants:read', 'plants:write', 'tokens', 'webhooks'])
  for (const scope of SCOPES) assert.equal(isScope(scope), true)
  for (const other of ['', 'plants', 'plants:*', 'Tokens', 'constructor']) assert.equal(isScope(other), false)
})
