import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { suite, test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { absolute, schemaCompiler } from '../../scripts/contract-source.ts'
import {
  derivedToken,
  excessOf,
  hashSecret,
  isScope,
  isWellFormed,
  makeSecret,
  makeTokenId,
  SCOPES,
  timeIn,
} from '../../src/domain/token.ts'
import { parseTokenRequest } from '../../src/http/resources/tokens.ts'
import { contract } from '../support/conforms.ts'
import { anyCharacter, holds } from '../support/property.ts'

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

const isAccepted = (body: unknown): boolean => {
  try {
    parseTokenRequest(Buffer.from(JSON.stringify(body)))
    return true
  } catch {
    return false
  }
}

suite('the body of a new token', () => {
  const schema = absolute({ $ref: '#/components/schemas/NewToken' })
  const isValid = schemaCompiler(contract.document).compile(schema)

  test('is accepted if and only if the contract allows it', async () => {
    const odd = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }))
    const name = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 4 }),
      fc.constantFrom('', 'é'.repeat(100), '🌱'.repeat(101)),
    )
    const scopes = fc.oneof(fc.array(fc.constantFrom<string>(...SCOPES, 'Tokens', ''), { maxLength: 4 }), odd)
    const expiresAt = fc.oneof(fc.constantFrom('2999-12-31T23:59:59Z', '2999-12-31', '2999-12-31T24:00:00Z', ''), odd)
    const body = fc.record({ name: fc.oneof(name, odd), scopes, expiresAt, x: odd }, { requiredKeys: [] })
    await holds(
      fc.property(body, (one) => {
        // Lone surrogates are not valid in JSON.
        fc.pre(JSON.stringify(one).isWellFormed() && !/\\\\ud[89a-f]/i.test(JSON.stringify(one)))
        assert.equal(isAccepted(one), isValid(one), JSON.stringify(one))
      }),
    )
  })

  test('yields its scopes in a fixed order without repetitions', () => {
    const body = Buffer.from('{"name":"x","scopes":["tokens","plants:read","tokens"]}')
    assert.deepEqual(parseTokenRequest(body).scopes, ['plants:read', 'tokens'])
  })
})

test('a time is an existing date and time with a zone, to the millisecond', () => {
  const right: readonly (readonly [string, string])[] = [
    ['2030-01-02T03:04:05Z', '2030-01-02T03:04:05.000Z'],
    ['2028-02-29t03:04:05.123999z', '2028-02-29T03:04:05.123Z'],
    ['2030-01-01T00:00:00+23:59', '2029-12-31T00:01:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T18:59:59-05:00', '9999-12-31T23:59:59.000Z'],
  ]
  for (const [text, time] of right) assert.equal(timeIn(text)?.toISOString(), time)
  const wrong = ['', 'now', '2030', '2030-01-02', '2030-01-02T03:04', '2030-01-02T03:04:05', '2030-02-29T00:00:00Z']
  wrong.push('2030-13-01T00:00:00Z', '2030-04-31T00:00:00Z', '2030-01-01T24:00:00Z', '2030-01-01T00:00:60Z')
  wrong.push('2030-00-10T00:00:00Z', '2030-01-00T00:00:00Z', '2030-01-01T00:00:00+24:00', '+12030-01-01T00:00:00Z')
  wrong.push('9999-12-31T23:59:59-05:00', '9999-12-31T19:00:00-05:00')
  for (const text of wrong) assert.equal(timeIn(text), undefined, text)
})

test('a token creates tokens with at most its own scopes and expiry', () => {
  const creator = { actor: { id: 'tok_1', name: 'x' }, scopes: ['plants:read', 'tokens'], expiresAt: 1000 } as const
  const ask = (scopes: readonly (typeof SCOPES)[number][], expiresAt?: Date) =>
    excessOf({ name: 'x', scopes, expiresAt }, creator)
  assert.equal(ask(['plants:read'], new Date(1000)), undefined)
  assert.equal(ask(['plants:read', 'tokens']), undefined)
  assert.equal(ask(['plants:write']), 'scopes')
  assert.equal(ask(['tokens', 'plants:write']), 'scopes')
  assert.equal(ask(['tokens'], new Date(1001)), 'expiry')
})

test('a derived token depends on secret and key, and has the form of a random token', () => {
  const [secret, other] = [makeSecret(), makeSecret()]
  const one = derivedToken(secret, 'a-key-of-a-client-1')
  assert.ok(isWellFormed(one.secret))
  assert.match(one.id, /^tok_[0-9A-Za-z]{11}$/)
  assert.deepEqual(derivedToken(secret, 'a-key-of-a-client-1'), one)
  for (const another of [derivedToken(secret, 'a-key-of-a-client-2'), derivedToken(other, 'a-key-of-a-client-1')]) {
    assert.notEqual(another.secret, one.secret)
    assert.notEqual(another.id, one.id)
  }
})
