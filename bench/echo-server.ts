import { createServer } from 'node:net'

/** The answer to any bytes. This server shows the most requests that the load generator can send. */
const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')

createServer((socket) => {
  socket.setNoDelay(true)
  socket.on('data', () => socket.write(ANSWER))
  socket.on('error', () => socket.destroy())
}).listen(Number(process.env['PLANTSTORE_PORT']), '127.0.0.1', () => console.log('Ready'))
process.on('SIGTERM', () => process.exit())
