import { createServer } from 'node:http'

/**
 * The yardstick: what this runtime can answer at all. It checks the token and parses the plant as a careful but minimal
 * service would, and stores nothing.
 */
const authorization = `Bearer ${process.env['PLANTSTORE_TOKEN']}`

const server = createServer((request, response) => {
  if (request.method !== 'POST' || request.url !== '/plants') {
    response.writeHead(404).end()
    return
  }
  if (request.headers.authorization !== authorization) {
    response.writeHead(401).end()
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { name, tag } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { name: string; tag?: string }
    const body = JSON.stringify({ name, tag })
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    response.end(body)
  })
})
server.listen(Number(process.env['PLANTSTORE_PORT']), '127.0.0.1', () => console.log('Ready'))
process.on('SIGTERM', () => process.exit())
