import { connect } from 'node:net'

/**
 * Readers of streams of changes: a separate process that counts what it reads, and prints the bytes as JSON once its
 * standard input ends. It reads plain sockets into one buffer, as readers that do more would take the cores of the service.
 */
export interface ReaderOptions {
  readonly port: number
  readonly token: string
  readonly streams: number
}

async function run({ port, token, streams }: ReaderOptions): Promise<void> {
  const buffer = Buffer.alloc(2 ** 18)
  let bytes = 0
  const open = () =>
    new Promise<void>((resolve) => {
      const onread = {
        buffer,
        callback: (length: number) => {
          bytes += length
          resolve()
          return true
        },
      }
      const socket = connect({ port, host: '127.0.0.1', onread })
      const head = ['GET /changes?after=now HTTP/1.1', 'Host: bench', `Authorization: Bearer ${token}`]
      socket.write(`${[...head, 'Accept: text/event-stream'].join('\r\n')}\r\n\r\n`)
    })
  await Promise.all(Array.from({ length: streams }, open))
  console.log(JSON.stringify({ open: streams }))
  await new Promise((resolve) => process.stdin.once('end', resolve).resume())
  console.log(JSON.stringify({ bytes }))
}

if (import.meta.main) {
  await run(JSON.parse(process.argv[2] ?? '{}') as ReaderOptions)
  process.exit()
}
