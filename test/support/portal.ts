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

/** What programs on the way answer in place of the service, whatever the request asks for. */
export const FOREIGN: Readonly<Record<string, Foreign>> = {
  'a portal with a page and 200': { status: 200, type: HTML, body: PAGE, isSignIn: true },
  'a portal with a page, 200 and an id of the request': {
    status: 200,
    type: HTML,
    headers: ID,
    body: PAGE,
    isSignIn: true,
  },
  'a portal with a page and 201': { status: 201, type: HTML, body: PAGE, isSignIn: true },
  'a portal that calls its page JSON': { status: 200, type: JSON_TYPE, body: PAGE },
  'a gateway with 200 and no body': { status: 200, isSignIn: true },
  'a gateway with 200, an entity tag and no body': { status: 200, headers: { ETag: '"1"', ...ID }, isSignIn: true },
  'a gateway with 202 and no body': { status: 202, headers: ID, isSignIn: true },
  'a network that answers 204 to all': { status: 204, isSignIn: true },
  'a network that says "Success"': { status: 200, type: 'text/plain', body: 'Success', isSignIn: true },
  'another program with JSON': { status: 200, type: JSON_TYPE, body: '{"status":"ok"}', isSignIn: true },
  'another program with an entity tag and JSON': {
    status: 200,
    type: JSON_TYPE,
    headers: { ETag: '"1"' },
    body: '{"id":7,"success":true}',
    isSignIn: true,
  },
  'another program with an empty object': { status: 200, type: JSON_TYPE, body: '{}', isSignIn: true },
  'another program with an empty list': { status: 200, type: JSON_TYPE, body: '[]', isSignIn: true },
  'another program with a list of its own': {
    status: 200,
    type: JSON_TYPE,
    headers: { ETag: '"1"', ...ID },
    body: '[{"id":1},null]',
    isSignIn: true,
  },
  'another program with null': { status: 200, type: JSON_TYPE, headers: { ETag: '"1"' }, body: 'null', isSignIn: true },
  'a program that sends the body back': {
    status: 200,
    type: JSON_TYPE,
    body: (sent) => (sent === '' ? '{}' : sent),
    isSignIn: true,
  },
  'a gateway that cuts the answer short': {
    status: 200,
    type: JSON_TYPE,
    headers: { ETag: '"1"', ...ID },
    body: '{"id":7,"na',
  },
  'a redirect to a portal': { status: 302, headers: { Location: '/portal' }, isSignIn: true },
  'a redirect that keeps the method': { status: 307, headers: { Location: '/portal' }, isSignIn: true },
  '304 from a cache': { status: 304, headers: { ETag: '"1"' }, isSignIn: true },
  'a network that asks for a sign-in (511)': { status: 511, type: HTML, body: PAGE, isSignIn: true },
  'a proxy that this machine does not know (407)': { status: 407, type: HTML, body: PAGE, isSignIn: false },
  'a proxy with a password (401)': {
    status: 401,
    headers: { 'WWW-Authenticate': 'Basic realm="proxy"' },
    isSignIn: true,
  },
  'a filter that blocks (403)': { status: 403, type: HTML, body: PAGE, isSignIn: false },
  'another program that finds nothing': {
    status: 404,
    type: JSON_TYPE,
    body: '{"error":404,"message":"not found"}',
    isSignIn: false,
  },
  'another program with a number of the service': {
    status: 404,
    type: JSON_TYPE,
    body: '{"error":40901,"message":"x"}',
    isSignIn: false,
  },
  'a proxy without a service behind it (502)': { status: 502, type: HTML, body: PAGE, isSignIn: false },
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

function pass(port: number, asked: IncomingMessage, answer: ServerResponse): void {
  const { method, url, headers } = asked
  const passed = request({ port, host: '127.0.0.1', method, path: url, headers }, (given) => {
    answer.writeHead(given.statusCode ?? 500, given.headers)
    given.pipe(answer)
  })
  passed.on('error', () => answer.destroy())
  answer.on('close', () => passed.destroy())
  asked.pipe(passed)
}
