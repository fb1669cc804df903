import type { CasesOf } from './case.ts'

/** Settings of the network: where the service listens, and what browsers and clients may use. */
export const NETWORK_CASES: CasesOf<
  | 'host'
  | 'port'
  | 'metricsPort'
  | 'publicUrl'
  | 'tlsCert'
  | 'tlsKey'
  | 'page'
  | 'corsOrigins'
  | 'trustedProxies'
  | 'token'
> = {
  host: {
    right: [
      ['0.0.0.0', '0.0.0.0'],
      ['::1', '::1'],
    ],
    wrong: [''],
  },
  port: {
    right: [
      ['0', 0],
      ['65535', 65535],
    ],
    wrong: ['65536', '-1', '80.5', 'http', '', '0x50', '1e3', ' 80'],
  },
  metricsPort: {
    right: [
      ['9464', { host: '127.0.0.1', port: 9464 }],
      ['0.0.0.0:0', { host: '0.0.0.0', port: 0 }],
      ['[::1]:9464', { host: '::1', port: 9464 }],
      ['monitors.example:80', { host: 'monitors.example', port: 80 }],
      ['off', undefined],
    ],
    wrong: ['65536', '-1', 'on', '', ' 80', ':80', '::1', '127.0.0.1:', '127.0.0.1:65536', '127.0.0.1'],
  },
  publicUrl: {
    right: [
      ['https://plants.example', 'https://plants.example'],
      ['HTTP://192.168.1.20:8080/', 'http://192.168.1.20:8080'],
    ],
    wrong: [
      '',
      'plants.example',
      'ftp://plants.example',
      'https://plants.example/store',
      'https://me@plants.example',
      'https://plants.example/?a',
      'https://plants.example/#a',
      'https://',
    ],
  },
  tlsCert: {
    right: [
      ['chain.pem', 'chain.pem'],
      ['/etc/plantstore/fullchain.pem', '/etc/plantstore/fullchain.pem'],
    ],
    wrong: [''],
  },
  tlsKey: {
    right: [
      ['key.pem', 'key.pem'],
      ['/etc/plantstore/privkey.pem', '/etc/plantstore/privkey.pem'],
    ],
    wrong: [''],
  },
  page: {
    right: [
      ['on', true],
      ['off', false],
    ],
    wrong: ['', 'no', 'ON', 'true'],
  },
  corsOrigins: {
    right: [
      ['https://garden.example', ['https://garden.example']],
      ['http://localhost:5173, https://a.example', ['http://localhost:5173', 'https://a.example']],
    ],
    wrong: [
      '',
      '*',
      'null',
      'https://a.example/',
      'https://A.example',
      'https://a.example:443',
      'a.example',
      'file://',
    ],
  },
  trustedProxies: {
    right: [
      ['10.0.0.0/8', [{ address: '10.0.0.0', prefix: 8 }]],
      ['none', []],
    ],
    wrong: ['', 'proxy.example', '10.0.0.0/33', '0.0.0.0/0', 'off'],
  },
  token: {
    right: [
      ['k7Qz-3fV0.pW9~mX', 'k7Qz-3fV0.pW9~mX'],
      ['ABC-._~+/0139576==', 'ABC-._~+/0139576=='],
    ],
    wrong: [
      '',
      'k7Qz-3fV0.pW9~m',
      '0123456789 abcdef',
      'schlüssel-schlüssel',
      '0123456789abcdef\n',
      '====k7Qz-3fV0.pW9~mX',
      // Guessable tokens.
      'aaaaaaaaaaaaaaaaaaaaaaaa',
      'abababcdcdcdefefef',
      'secret89secret89',
      '0123456789abcdef',
      'ZYXWVUTSRQPONMLKJIHGFEDCBA',
      // A secret of "plantstore token create", and a part of one.
      'ps_OtNFSrQZ08UQUjlzvjaTvbHFhTIzzZDx3wdOGDzU8Gg1XoNPl',
      'ps_OtNFSrQZ08UQUjlzvjaTvbHF',
    ],
  },
}
