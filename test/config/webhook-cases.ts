import type { CasesOf } from './case.ts'

const NONE = { external: false, private: false, loopback: false, networks: [], names: [] }

/** Where webhooks may connect, and when they give up. */
export const WEBHOOK_CASES: CasesOf<'webhookAllow' | 'webhookGiveUp'> = {
  webhookAllow: {
    right: [
      ['external', { ...NONE, external: true }],
      ['External, private,loopback', { ...NONE, external: true, private: true, loopback: true }],
      ['10.1.0.0/16', { ...NONE, networks: [{ address: '10.1.0.0', prefix: 16 }] }],
      ['fd00::/8', { ...NONE, networks: [{ address: 'fd00::', prefix: 8 }] }],
      [
        'external,Hooks.garden.example,*.kew.example',
        { ...NONE, external: true, names: ['hooks.garden.example', '*.kew.example'] },
      ],
    ],
    wrong: [
      '',
      'external,',
      '0.0.0.0/0',
      '10.0.0.0/33',
      '*',
      '*.*.example',
      'a..example',
      'https://a.example',
      'a.example:443',
    ],
  },
  webhookGiveUp: {
    right: [
      ['0s', 0],
      ['90s', 90_000],
      ['5d', 432_000_000],
    ],
    wrong: ['', '5', '5w', '3651d', 'off'],
  },
}
