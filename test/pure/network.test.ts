import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { addressGroup, blockListOf, plainAddress, readNetworks } from '../../src/base/network.ts'
import { SlowClients } from '../../src/http/answer/slow-clients.ts'
import { holds } from '../support/property.ts'

suite('a list of networks', () => {
  test('accepts addresses and networks of IPv4 and IPv6', () => {
    assert.deepEqual(readNetworks('10.0.0.0/8, 127.0.0.1,fd00::/8 , ::1'), [
      { address: '10.0.0.0', prefix: 8 },
      { address: '127.0.0.1', prefix: 32 },
      { address: 'fd00::', prefix: 8 },
      { address: '::1', prefix: 128 },
    ])
  })

  test('contains the addresses in its ranges and no others', () => {
    const list = blockListOf(readNetworks('10.1.0.0/16, 2001:db8::/32, 192.0.2.7'))
    for (const inside of ['10.1.255.255', '192.0.2.7']) assert.ok(list.check(inside, 'ipv4'), inside)
    for (const outside of ['10.2.0.0', '192.0.2.8']) assert.ok(!list.check(outside, 'ipv4'), outside)
    assert.ok(list.check('2001:db8:ffff::1', 'ipv6'))
    assert.ok(!list.check('2001:db9::1', 'ipv6'))
  })

  test('is refused with a message that names its first invalid part', () => {
    for (const wrong of [
      '',
      'proxy.example',
      '10.0.0',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '1.1.1.1,',
      'fe80::1%eth0',
      '/8',
      '10.0.0.0/-1',
    ]) {
      assert.throws(() => readNetworks(wrong), /is not an address like/, wrong)
    }
    for (const all of ['0.0.0.0/0', '::/0']) assert.throws(() => readNetworks(all), /covers every address/)
  })
})

suite('an address', () => {
  test('of IPv4 equals its spelling as an IPv6 address', () => {
    for (const mapped of ['::ffff:192.0.2.7', '::FFFF:c000:0207', '0:0:0:0:0:ffff:192.0.2.7']) {
      assert.equal(plainAddress(mapped), '192.0.2.7')
      assert.equal(addressGroup(mapped), '192.0.2.7')
    }
    for (const other of ['192.0.2.7', '::1', '::fffe:192.0.2.7', '64:ff9b::192.0.2.7', ''])
      assert.equal(plainAddress(other), other)
  })

  test('of IPv6 counts as its /64 network', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    const four = fc.tuple(group, group, group, group)
    holds(
      fc.property(four, four, four, (network, host, other) => {
        const spelled = (groups: readonly number[]) => groups.map((each) => each.toString(16)).join(':')
        const expected = addressGroup(spelled([...network, ...host]))
        fc.pre(!expected.includes('.'))
        assert.equal(addressGroup(spelled([...network, ...other.with(0, 1)])), expected)
        assert.equal(
          addressGroup(new URL(`http://[${spelled([...network, ...host])}]`).hostname.slice(1, -1)),
          expected,
        )
        assert.notEqual(addressGroup(spelled([(network[0] + 1) % 0x10000, ...network.slice(1), ...host])), expected)
      }),
    )
    assert.equal(addressGroup('fe80::1%eth0'), 'fe80:0:0:0::/64')
    assert.equal(addressGroup('::1'), '0:0:0:0::/64')
  })
})

const LIMITS = { stallTimeout: 30_000, leastSpeed: 1024, unreadLimit: 0 }

/** A client for which the service waits, and a function that lets a second pass in which the client moves bytes. */
function slowClient(t: TestContext) {
  let now = 0
  let moved = 0
  let isEnded = false
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setInterval'] })
  const end = () => {
    isEnded = true
  }
  new SlowClients(LIMITS).watch({ moved: () => moved, isWaiting: () => true, end, size: 0, verb: 'read' })
  return (bytes: number): boolean => {
    moved += bytes
    now += 1000
    t.mock.timers.tick(1000)
    return isEnded
  }
}

test('a client at the least speed may continue without limit', (t) => {
  const second = slowClient(t)
  for (let i = 0; i < 10_000; i++) assert.equal(second(1024), false)
})

test('a client that stops is too slow after one stall timeout, whatever it sent before', (t) => {
  const second = slowClient(t)
  second(10 ** 9)
  for (let i = 1; i < 30; i++) assert.equal(second(0), false, `after ${i} s`)
  assert.equal(second(0), true)
})

test('a client at half the least speed is too slow after two stall timeouts', (t) => {
  const second = slowClient(t)
  for (let i = 1; i < 60; i++) assert.equal(second(512), false, `after ${i} s`)
  assert.equal(second(512), true)
})
