import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

const ASKS_FOR_HTML = { headers: { Accept: 'text/html' }, authorization: null }

test('the contract and the page name the address that clients use', async (t) => {
  const service = await withService(t, { publicUrl: 'https://plants.example/' })
  const { json } = await service.send('GET', '/openapi.json')
  assert.deepEqual((json as { servers: unknown }).servers, [{ url: 'https://plants.example' }])
  const page = await service.send('GET', '/', ASKS_FOR_HTML)
  assert.ok(page.body.includes('<meta name="public-url" content="https://plants.example">\n</head>'), page.body)
})

onService('no text of the address becomes markup', { publicUrl: 'https://plants"&amp;.example' }, async (service) => {
  const page = await service.send('GET', '/', ASKS_FOR_HTML)
  assert.ok(page.body.includes('content="https://plants&quot;&amp;amp;.example"'), page.body)
})

onService('without --public-url they name none', async (service) => {
  const { json } = await service.send('GET', '/openapi.json')
  assert.deepEqual((json as { servers: unknown }).servers, [
    {
      url: '{address}',
      variables: {
        address: {
          description: 'The address of the service, as its operator gives it.',
          default: 'http://127.0.0.1:8080',
        },
      },
    },
  ])
  assert.doesNotMatch((await service.send('GET', '/', ASKS_FOR_HTML)).body, /<meta name="public-url"/)
})
