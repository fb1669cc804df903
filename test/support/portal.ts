import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Scene } from './clean-up.ts'

export interface Foreign {
  readonly status: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The body, or what makes it of the body of the request. */
  readonly body?: string | ((sent: string) => string)
  /** Whether the client says that the network asks for a sign-in; undefined where some methods cannot tell. */
  readonly isSignIn?: boolean
}

const PAGE = '<!doctype html><title>Welcome</title><form action="/login">Accept our terms</form>'
const HTML = 'text/html; charset=utf-8'
const JSON_TYPE = 'application/json'
const ID = { 'X-Request-Id': 'of-a-gateway' }
const TAG = { ETag: '"1"' }

/** A page to sign in. */
const page = (status: number, isSignIn: boolean, headers = {}): Foreign => ({
  status,
  type: HTML,
  headers,
  body: PAGE,
  isSignIn,
})
const json = (body: NonNullable<Foreign['body']>, headers = {}): Foreign => ({
  status: 200,
  type: JSON_TYPE,
  headers,
  body,
  isSignIn: true,
})
const missing = (body: string): Foreign => ({ status: 404, type: JSON_TYPE, body, isSignIn: false })
const blank = (status: number, headers = {}): Foreign => ({ status, headers, isSignIn: true })

/** What programs on the way answer in place of the service, whatever the request asks for. */
export const FOREIGN: Readonly<Record<string, Foreign>> = {
  'a portal with a page and 200': page(200, true),
  'a portal with a page, 200 and an id of the request': page(200, true, ID),
  'a portal with a page and 201': page(201, true),
  'a portal that calls its page JSON': { status: 200, type: JSON_TYPE, body: PAGE },
  'a gateway with 200 and no body': blank(200),
  'a gateway with 200, an entity tag and no body': blank(200, { ...TAG, ...ID }),
  'a gateway with 202 and no body': blank(202, ID),
  'a network that answers 204 to all': blank(204),
  'a network that says "Success"': { status: 200, type: 'text/plain', body: 'Success', isSignIn: true },
  'another program with JSON': json('{"status":"ok"}'),
  'another program with an entity tag and JSON': json('{"id":7,"success":true}', TAG),
  'another program with an empty object': json('{}'),
  'another program with an empty list': json('[]'),
  'another program with a list of its own': json('[{"id":1},null]', { ...TAG, ...ID }),
  'another program with null': json('null', TAG),
  'a program that sends the body back': json((sent) => (sent === '' ? '{}' : sent)),
  'a gateway that cuts the answer short': {
    status: 200,
    type: JSON_TYPE,
    headers: { ...TAG, ...ID },
    body: '{"id":7,"na',
  },
  'a redirect to a portal': blank(302, { Location: '/portal' }),
  'a redirect that keeps the method': blank(307, { Location: '/portal' }),
  '304 from a cache': blank(304, TAG),
  'a network that asks for a sign-in (511)': page(511, true),
  'a proxy that this machine does not know (407)': page(407, false),
  'a proxy with a password (401)': blank(401, { 'WWW-Authenticate': 'Basic realm="proxy"' }),
  'a filter that blocks (403)': page(403, false),
  'another program that finds nothing': missing('{"error":404,"message":"not found"}'),
  'another program with a number of the service': missing('{"error":40901,"message":"x"}'),
  'a proxy without a service behind it (502)': page(502, false),
}

/** A program between clients and a service, which passes requests on or answers them itself. */
export class Portal {
  readonly address: string
  /** Whether it answers a request in place of the service. */
  holdsUp: (method: string, path: string) => boolean = () => true
  /** What it answers then; undefined while it passes all on. */
  answer: Foreign | undefined
  asked = 0

  /** @param port of the service, if there is one */
  static async start(scene: Scene, port = 0): Promise<Portal> {
    const server = createServer((asked, answer) => {
      const { method = 'GET', url = '' } = asked
      portal.asked++
      if (portal.answer !== undefined && portal.holdsUp(method, url)) void give(portal.answer, asked, answer)
      else pass(port, asked, answer)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const portal = new Portal((server.address() as AddressInfo).port)
    scene.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return portal
  }

  constructor(port: number) {
    this.address = `http://127.0.0.1:${port}`
  }
}

async function give(foreign: Foreign, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { status, type, headers, body = '' } = foreign
  const sent = await text(asked).catch(() => '')
  // What the recorder of tests takes for a proxy's.
  answer.writeHead(status, { Server: 'nginx', ...headers, ...(type === undefined ? {} : { 'Content-Type': type }) })
  answer.end(typeof body === 'string' ? body : body(sent))
}

/** Passes a request on to the service at a port, and its answer back. */
export function pass(port: number, asked: IncomingMessage, answer: ServerResponse, path = asked.url): void {
  const { method, headers } = asked
  const passed = request({ port, host: '127.0.0.1', method, path, headers }, (given) => {
    answer.writeHead(given.statusCode ?? 500, given.headers)
    given.pipe(answer)
  })
  passed.on('error', () => answer.destroy())
  answer.on('close', () => passed.destroy())
  asked.pipe(passed)
}
