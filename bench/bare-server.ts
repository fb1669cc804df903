import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'

/**
 * The reference: the most requests that this runtime can answer. Like a careful but minimal service, it checks the
 * token, parses the plant of a create, and answers a plant to a read. It stores nothing.
 */
const authorization = `Bearer ${process.env['PLANTSTORE_TOKEN']}`

const listener: RequestListener = (request, response) => {
  if (request.headers.authorization !== authorization) {
    response.writeHead(401).end()
    return
  }
  if (request.method === 'GET' && request.url?.startsWith('/plants') === true) {
    answer(response, { id: Number(/\d+$/.exec(request.url)?.[0]), name: 'Monstera deliciosa', tag: 'houseplant' })
    return
  }
  if (request.method !== 'POST' || request.url !== '/plants') {
    response.writeHead(404).end()
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { name, tag } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { name: string; tag?: string }
    answer(response, { name, tag })
  })
}

function answer(response: ServerResponse, record: object): void {
  const body = JSON.stringify(record)
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

const { PLANTSTORE_TLS_CERT: cert, PLANTSTORE_TLS_KEY: key } = process.env
const server =
  cert === undefined || key === undefined
    ? createServer(listener)
    : createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) }, listener)
server.listen(Number(process.env['PLANTSTORE_PORT']), '127.0.0.1', () => console.log('Ready'))
process.on('SIGTERM', () => process.exit())
