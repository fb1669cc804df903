import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useBelow } from '../../support/below-path.ts'
import { hasBrowser, withBrowser } from '../../support/browser.ts'
import { freePort } from '../../support/free-port.ts'
import { Issuer } from '../../support/issuer.ts'
import { hasNginx, nginxOf, readGuide, startNginx } from '../../support/nginx.ts'
import { notTestedHere } from '../../support/not-tested.ts'
import { withService } from '../../support/service.ts'
import { PATIENCE } from '../../support/until.ts'

const PASS = 'proxy_pass http://127.0.0.1:8080;'

for (const strips of [false, true]) {
  const title = `nginx that ${strips ? 'takes the path off' : 'leaves the path'}, as in the guide`
  test(`two services work below their paths behind ${title}`, async (t) => {
    if (!hasNginx()) return notTestedHere(t, `services below a path behind ${title}, because there is no nginx`)
    if (!hasBrowser) return notTestedHere(t, `services below a path behind ${title}, because there is no Chromium`)
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const issuer = await Issuer.start(t)
    const below = async (path: string) => {
      const service = await withService(t, { ...issuer.settings, publicUrl: origin + path })
      return { address: origin + path, service }
    }
    const [garden, shed] = [await below('/garden'), await below('/shed')]
    await startNginx(t, configuration(port, garden.service.port, shed.service.port, strips), port, '/garden')

    const refused = await fetch(`${garden.address}/plants`)
    const metadata = /resource_metadata="(.*)"/.exec(refused.headers.get('WWW-Authenticate') ?? '')?.[1] ?? ''
    assert.equal(metadata, `${origin}/.well-known/oauth-protected-resource/garden`)
    const { resource } = (await (await fetch(metadata)).json()) as { readonly resource: string }
    assert.equal(resource, garden.address)
    assert.equal((await fetch(`${origin}/gardener`)).headers.get('X-Request-Id'), null, 'nginx answers it by itself')

    const context = await (await withBrowser(t)).newContext({ reducedMotion: 'reduce' })
    context.setDefaultTimeout(PATIENCE)
    await useBelow(await context.newPage(), garden, shed)
  })
}

/** The server of the guide without TLS, with the locations of a second service. */
function configuration(port: number, garden: number, shed: number, strips: boolean): string {
  const server = nginxOf(readGuide('below-a-path'), {
    'listen 443 ssl;': `listen 127.0.0.1:${port};`,
    'ssl_certificate /etc/ssl/example.org.pem;': '',
    'ssl_certificate_key /etc/ssl/example.org.key;': '',
  })
  // The first one of the guide is that of the path.
  const passing = strips ? server.replace(PASS, PASS.replace(';', '/;')) : server
  const [head = '', ...locations] = passing.split(/(?= {2}location )/)
  const last = locations.join('').replace(/}\s*$/, '')
  const of = (to: number) => last.replaceAll('127.0.0.1:8080', `127.0.0.1:${to}`)
  return `${head}${of(garden)}${of(shed).replaceAll('garden', 'shed')}}`
}
