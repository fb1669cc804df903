import { exportJWK, exportSPKI, generateKeyPair, UnsecuredJWT } from 'jose'
import { AUDIENCE, type Issuer } from './issuer.ts'

const HOUR = 3600
const now = (): number => Math.floor(Date.now() / 1000)

const encoded = (text: string): string => Buffer.from(text).toString('base64url')

/**
 * Makes tokens that a service refuses with 40102 if it takes the type at+jwt alone, by what is wrong with them.
 *
 * @param counter the address of a server that no token may lead to
 */
export const JWT_FAULTS: Readonly<Record<string, (issuer: Issuer, counter: string) => Promise<string> | string>> = {
  'no algorithm': (issuer) =>
    new UnsecuredJWT({ scope: 'plants:read' })
      .setIssuer(issuer.url)
      .setAudience(AUDIENCE)
      .setSubject('anna')
      .setIssuedAt()
      .setExpirationTime('1h')
      .encode()
      .concat('AA'),
  'HS256 signed with the public key': async (issuer) => {
    const secret = Buffer.from(await exportSPKI(issuer.keyOf('RS256').publicKey))
    return issuer.sign({}, { alg: 'HS256', kid: issuer.kid('RS256') }, secret)
  },
  'another key under the same kid': async (issuer) => issuer.sign({}, {}, (await generateKeyPair('ES256')).privateKey),
  'the key of another algorithm': (issuer) => issuer.sign({ iat: now() - 600 }, { alg: 'ES384' }),
  'an unknown kid': (issuer) => issuer.sign({ iat: now() - 600, exp: now() + HOUR }, { kid: 'invented' }),
  'the kid of a key of another algorithm': (issuer) =>
    issuer.sign({ iat: now() - 600 }, { alg: 'RS256', kid: issuer.kid('PS256') }),
  'an issuer with a slash more': (issuer) => issuer.sign({ iss: `${issuer.url}/` }),
  'an issuer in an array': (issuer) => issuer.sign({ iss: [issuer.url] }),
  'another audience': (issuer) => issuer.sign({ aud: `${AUDIENCE}2` }),
  'no audience': (issuer) => issuer.sign({ aud: undefined }),
  'no subject': (issuer) => issuer.sign({ sub: undefined }),
  'an empty subject': (issuer) => issuer.sign({ sub: '' }),
  'a subject that is a number': (issuer) => issuer.sign({ sub: 7 }),
  'a subject of 256 characters': (issuer) => issuer.sign({ sub: 'x'.repeat(256) }),
  'a subject with a line feed': (issuer) => issuer.sign({ sub: 'anna\nbert' }),
  'not yet valid': (issuer) => issuer.sign({ nbf: now() + HOUR / 2 }),
  'issued in the future': (issuer) => issuer.sign({ iat: now() + HOUR / 2 }),
  'no time of issue': (issuer) => issuer.sign({ iat: undefined }),
  'a lifetime of 25 h': (issuer) => issuer.sign({ exp: now() + 25 * HOUR }),
  'exp as text': (issuer) => issuer.sign({ exp: String(now() + HOUR) }),
  'exp of 1e300': (issuer) => issuer.sign({ exp: 1e300 }),
  'no exp': (issuer) => issuer.sign({ exp: undefined }),
  'iat of -1e300': (issuer) => issuer.sign({ iat: -1e300 }),
  'ES256 with r = s = 0': async (issuer) => {
    const [header, claims] = (await issuer.sign()).split('.')
    return `${header}.${claims}.${Buffer.alloc(64).toString('base64url')}`
  },
  'a signature in DER': async (issuer) => `${(await issuer.sign()).split('.', 2).join('.')}.MAYCAQECAQE`,
  crit: (issuer) => issuer.sign({}, { crit: ['b64'], b64: true }),
  'an embedded jwk, which has signed it': async (issuer) => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    return issuer.sign({}, { jwk: await exportJWK(publicKey) }, privateKey)
  },
  'a jku to a server that counts': async (issuer, counter) =>
    issuer.sign({}, { jku: counter, x5u: counter }, (await generateKeyPair('ES256')).privateKey),
  'a repeated member of the header': async (issuer) => resigned(issuer, '{"alg":"none",', '{'),
  'a repeated claim': async (issuer) => resigned(issuer, '{', '{"sub":"root",'),
  'claims that are no object': async (issuer) => {
    const [header, , signature] = (await issuer.sign()).split('.')
    return `${header}.${encoded('[]')}.${signature}`
  },
  'claims nested too deep': async (issuer) => {
    const [header, , signature] = (await issuer.sign()).split('.')
    return `${header}.${encoded(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`)}.${signature}`
  },
  'five parts': async (issuer) => `${await issuer.sign()}.AA.AA`,
  'two parts': async (issuer) => (await issuer.sign()).split('.', 2).join('.'),
  'empty parts': () => '..',
  'an ID token': (issuer) => issuer.sign({ nonce: 'n' }, { typ: 'JWT' }),
  'no type': (issuer) => issuer.sign({}, { typ: undefined }),
  'another type': (issuer) => issuer.sign({}, { typ: 'dpop+jwt' }),
  'characters that are not base64url': async (issuer) => (await issuer.sign()).replace(/..$/, '+/'),
  padding: async (issuer) => `${await issuer.sign()}==`,
  'a changed claim': async (issuer) => {
    const [header, claims = '', signature] = (await issuer.sign()).split('.')
    const changed = Buffer.from(claims, 'base64url').toString().replace('anna', 'root')
    return `${header}.${encoded(changed)}.${signature}`
  },
  'almost 16 KiB': async (issuer) =>
    issuer.sign({ pad: 'x'.repeat(11_000) }, {}, (await generateKeyPair('ES256')).privateKey),
}

/** Signs a token of the issuer whose header and claims begin with these texts in place of a brace. */
async function resigned(issuer: Issuer, header: string, claims: string): Promise<string> {
  const parts = (await issuer.sign()).split('.', 2)
  const [head = '', body = ''] = parts.map((part) => Buffer.from(part, 'base64url').toString())
  const signed = `${encoded(head.replace('{', header))}.${encoded(body.replace('{', claims))}`
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(algorithm, issuer.keyOf('ES256').privateKey, Buffer.from(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}
