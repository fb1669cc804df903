import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readWebhookAllow } from '../../src/settings/webhooks.ts'
import { AddressPolicy, unwrapped } from '../../src/webhooks/address-policy.ts'

const policy = (allow = 'external') => new AddressPolicy(readWebhookAllow(allow))

/** Returns the fault of a URL, for an attempt whose name has these addresses. */
function faultOf(url: string, { allow = 'external', addresses = ['93.184.215.14'] } = {}): string | undefined {
  const parsed = new URL(url)
  return policy(allow).faultOf(parsed) ?? policy(allow).faultOf(parsed, addresses)
}

/** Spellings of addresses that are no public ones. */
const INWARD = `
  127.0.0.1 127.1 2130706433 0177.0.0.1 0x7f.1 0 １２７.０.０.１ localhost LOCALHOST localhost. a.localhost [::1]
  [::] [::ffff:7f00:1] [::ffff:127.0.0.1] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1]
  [64:ff9b:1::7f00:1] [64:ff9b:1:7f00:0:100::] [64:ff9b:1::a:0:800:0] [2002:7f00:1::] [2002:0a00:0001::1]
  [2001:0:7f00:1::] [2001:db8::1] [3fff::1] [fe80::1] [fec0::1] [fd00::1] [ff02::1] [100::1] [5f00::1] 10.0.0.1
  172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1
  198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255`
  .trim()
  .split(/\s+/)

suite('by default, a webhook', () => {
  test('is refused for each spelling of an address that is not public, and the refusal names only the setting', () => {
    for (const host of INWARD) {
      const fault = policy().faultOf(new URL(`https://${host}/path`)) ?? assert.fail(host)
      assert.match(fault, /--webhook-allow/)
      assert.doesNotMatch(fault, /\d/)
    }
  })

  test('may go to public addresses, also within addresses of IPv6', () => {
    for (const host of [
      '93.184.215.14',
      '[2606:2800:21f:cb07:6820:80da:af6b:8b2c]',
      '[::ffff:93.184.215.14]',
      '[64:ff9b::93.184.215.14]',
      '[2002:5db8:d70e::]',
      'hooks.garden.example',
    ]) {
      assert.equal(policy().faultOf(new URL(`https://${host}/`)), undefined, host)
    }
  })

  test('is refused when any address of its name is not public', () => {
    assert.equal(faultOf('https://hooks.garden.example/'), undefined)
    for (const address of ['127.0.0.1', '::1', '10.0.0.7', 'fe80::1%eth0', '::ffff:7f00:1', 'nonsense']) {
      const addresses = ['93.184.215.14', address]
      assert.ok(faultOf('https://hooks.garden.example/', { addresses }), address)
    }
  })

  test('is refused without TLS, with a user name, and with another scheme', () => {
    for (const url of [
      'http://hooks.garden.example/',
      'http://93.184.215.14/',
      'https://kew:secret@hooks.garden.example/',
      'https://kew@hooks.garden.example/',
      'ftp://hooks.garden.example/',
      'file:///etc/passwd',
      'javascript:1',
    ]) {
      assert.ok(policy().faultOf(new URL(url)), url)
    }
  })
})

suite('--webhook-allow', () => {
  for (const [allow, url, address, fault] of [
    ['private', 'http://10.1.2.3/', '10.1.2.3', undefined],
    ['external,private', 'http://hooks.garden.example/', 'fd00::1', undefined],
    ['external,private', 'http://hooks.garden.example/', '93.184.215.14', /must begin with https/],
    ['loopback', 'http://127.0.0.1:8080/', '127.0.0.1', undefined],
    ['loopback', 'http://localhost/', '127.0.0.1 ::1', undefined],
    ['private', 'https://a.example/', '127.0.0.1', /--webhook-allow/],
    ['loopback', 'https://a.example/', '10.0.0.1', /--webhook-allow/],
    ['private,loopback', 'https://a.example/', '93.184.215.14', /--webhook-allow/],
    ['private,loopback', 'https://a.example/', '169.254.169.254', /--webhook-allow/],
    ['external,private', 'https://a.example/', '100.64.0.1', /--webhook-allow/],
    // Networks may hold special addresses too.
    ['100.64.0.0/10', 'https://a.example/', '100.64.0.1', undefined],
    ['100.64.0.0/10', 'http://a.example/', '100.64.0.1', /https/],
    ['10.1.0.0/16', 'http://10.1.2.3/', '10.1.2.3', undefined],
    ['10.1.0.0/16', 'https://a.example/', '::ffff:10.1.2.3', undefined],
    ['10.1.0.0/16', 'https://a.example/', '10.2.0.1', /--webhook-allow/],
  ] as const) {
    test(`${allow} ${fault === undefined ? 'allows' : 'refuses'} ${url} at ${address}`, () => {
      const found = faultOf(url, { allow, addresses: address.split(' ') })
      if (fault === undefined) assert.equal(found, undefined)
      else assert.match(String(found), fault)
    })
  }

  test('allows names, at public and private addresses, and no other names', () => {
    const allow = 'hooks.garden.example,*.kew.example'
    for (const url of ['https://hooks.garden.example/', 'https://HOOKS.garden.example./', 'https://a.b.kew.example/']) {
      assert.equal(faultOf(url, { allow }), undefined)
      assert.equal(faultOf(url, { allow, addresses: ['10.0.0.7'] }), undefined)
    }
    for (const url of ['https://garden.example/', 'https://kew.example/', 'https://evilkew.example/']) {
      assert.ok(faultOf(url, { allow }), url)
    }
    for (const address of ['127.0.0.1', '169.254.169.254', '::1', 'fe80::1']) {
      const addresses = [address]
      assert.ok(faultOf('https://hooks.garden.example/', { allow, addresses }), address)
    }
  })
})

test('an address that carries another one is checked as that one', () => {
  for (const [address, inner] of [
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::102:304', '1.2.3.4'],
    ['64:ff9b::102:304', '1.2.3.4'],
    ['64:ff9b:1::102:304', '1.2.3.4'],
    ['2002:102:304:5:6::7', '1.2.3.4'],
    ['::1', '::1'],
    ['::', '::'],
    ['2606:4700::1111', '2606:4700::1111'],
    ['fe80::1%eth0', undefined],
    ['a name', undefined],
  ] as const) {
    assert.equal(unwrapped(address), inner, address)
  }
})
