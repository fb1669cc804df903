import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import type { Pair } from './transport.ts'

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: 2048,
}
const DAY = 86_400_000

interface Wanted {
  readonly algorithm?: 'EC' | 'RSA'
  /** Days from now until it expires; negative: it has expired. */
  readonly days?: number
}

/** Makes a certificate for localhost and 127.0.0.1, and the authority that signs it. Keys never leave the test. */
export async function makeCertificate({
  algorithm = 'EC',
  days = 90,
}: Wanted = {}): Promise<Pair & { authority: string }> {
  const authorityKeys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify'])
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...timesFrom(-100, 1000),
    serialNumber: '01',
    name: `CN=Authority ${crypto.randomUUID()}`,
    keys: authorityKeys,
    signingAlgorithm: EC,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  })
  const keys = await crypto.subtle.generateKey(algorithm === 'EC' ? EC : RSA, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    ...timesFrom(-90, days),
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8)))
      .toString('hex')
      .replace(/^./, '1'),
    subject: 'CN=localhost',
    issuer: authority.subject,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    signingAlgorithm: EC,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
      ]),
    ],
  })
  const der = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  const authorityPem = `${authority.toString('pem')}\n`
  return {
    cert: `${certificate.toString('pem')}\n${authorityPem}`,
    key: `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`,
    authority: authorityPem,
  }
}

const timesFrom = (from: number, to: number) => ({
  notBefore: new Date(Date.now() + from * DAY),
  notAfter: new Date(Date.now() + to * DAY),
})
