import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ClientAddresses, readNetworks } from '../../src/base/network.ts'
import { words } from '../support/words.ts'

const PROXY = '10.0.0.1'
const CLIENT = '203.0.113.9'
const addresses = new ClientAddresses(readNetworks('10.0.0.0/8, fd00::/8'))
const forwardedFor = (text: string) => addresses.of(PROXY, { 'x-forwarded-for': text })
const forwarded = (text: string) => addresses.of(PROXY, { forwarded: text })

suite('the address of a client', () => {
  test('is that of the connection, whatever the headers say, unless a trusted proxy connects', () => {
    const headers = { 'x-forwarded-for': CLIENT, forwarded: `for=${CLIENT}` }
    assert.equal(addresses.of('198.51.100.1', headers), '198.51.100.1')
    assert.equal(addresses.of('::ffff:198.51.100.1', headers), '198.51.100.1')
    assert.equal(new ClientAddresses([]).of(PROXY, headers), PROXY)
    assert.equal(addresses.of(undefined, headers), '')
  })

  test('is the address that a trusted proxy names in Forwarded or X-Forwarded-For', () => {
    for (const text of [CLIENT, ` ${CLIENT} `, `${CLIENT}:4711`, `1.2.3.4, ${CLIENT}`, `${CLIENT}, 10.9.9.9`]) {
      assert.equal(forwardedFor(text), CLIENT, text)
    }
    for (const text of [
      `for=${CLIENT}`,
      `For="${CLIENT}:4711";proto=https;by=10.0.0.1`,
      `for=1.2.3.4, for=${CLIENT};host="a,b"`,
      `proto=https; FOR=${CLIENT} , for=10.2.3.4`,
    ]) {
      assert.equal(forwarded(text), CLIENT, text)
    }
    assert.equal(addresses.of('::ffff:10.0.0.1', { 'x-forwarded-for': CLIENT }), CLIENT)
    assert.equal(addresses.of('fd00::7', { 'x-forwarded-for': ['1.2.3.4', CLIENT] }), CLIENT)
    assert.equal(forwarded('for="[2001:db8:cafe::17]:4711"'), '2001:db8:cafe::17')
    assert.equal(forwardedFor('[2001:db8:cafe::17]'), '2001:db8:cafe::17')
    assert.equal(forwardedFor('2001:db8:cafe::17'), '2001:db8:cafe::17')
    assert.equal(forwardedFor('::ffff:203.0.113.9'), CLIENT)
  })

  test('is the last trusted proxy if that proxy names no address', () => {
    for (const text of [
      '',
      '1.2.3.4, unknown',
      `${CLIENT},`,
      ...words`unknown _hidden client.example 1.2.3 999.1.1.1`,
    ]) {
      assert.equal(forwardedFor(text), PROXY, text)
    }
    for (const text of [
      '',
      'for=unknown',
      'for="_x"',
      'proto=https',
      `for=${CLIENT}, proto=https`,
      `for="${CLIENT}`,
      `xfor=${CLIENT}`,
      `for=a;for=${CLIENT}`,
    ]) {
      assert.equal(forwarded(text), PROXY, text)
    }
    assert.equal(addresses.of(PROXY, {}), PROXY)
    assert.equal(forwardedFor('unknown, 10.7.7.7'), '10.7.7.7')
    assert.equal(forwardedFor('10.1.1.1, 10.2.2.2'), '10.1.1.1')
  })

  test('cannot be forged in the header that the proxy does not set', () => {
    assert.equal(addresses.of(PROXY, { 'x-forwarded-for': CLIENT, forwarded: 'for=1.2.3.4' }), PROXY)
    assert.equal(addresses.of(PROXY, { 'x-forwarded-for': CLIENT, forwarded: `for=${CLIENT}` }), CLIENT)
  })

  test('is found fast in the longest headers', () => {
    const before = process.cpuUsage()
    const long = [',', 'for=', '"', '"\\', 'for="\\', ' ', '1,', 'for=1;', ';'].map((text) =>
      text.repeat(Math.floor(16_384 / text.length)),
    )
    for (const text of long) {
      forwardedFor(text)
      forwarded(text)
    }
    const { user } = process.cpuUsage(before)
    assert.ok(user < 2_000_000, `${user / 1e6} s of processor time`)
  })
})
