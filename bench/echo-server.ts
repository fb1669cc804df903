import { createServer } from 'node:net'

/** Answers any bytes with the same few bytes, which shows the most that the load generator can drive. */
const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')

createServer((socket) => {
  socket.setNoDelay(true)
  socket.on('data', () => socket.write(ANSWER))
  socket.on('error', () => socket.destroy())
}).listen(Number(process.env['PLANTSTORE_PORT']), '127.0.0.1', () => console.log('Ready'))
process.on('SIGTERM', () => process.exit())
