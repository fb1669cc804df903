// Runs commands of `plantstore` for commands.ts, one after the other.
import { main } from '../../src/cli/main.ts'
import type { CommandLine } from './commands.ts'

// Each command listens for errors of the standard streams, which here outlive it.
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0)

process.on('message', async ({ args, cwd }: CommandLine) => {
  process.chdir(cwd)
  const [stdout, stderr] = [caught(process.stdout), caught(process.stderr)]
  process.exitCode = undefined
  await main([process.execPath, 'plantstore', ...args])
  process.send?.({ code: process.exitCode ?? 0, stdout: stdout(), stderr: stderr() })
})

// Connections to services may still be open.
process.on('disconnect', () => process.exit())

/** Keeps what is written to a stream. @returns a function that ends this, and returns the text */
function caught(stream: NodeJS.WriteStream): () => string {
  const chunks: Buffer[] = []
  const { write } = stream
  stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
    chunks.push(Buffer.from(typeof chunk === 'string' ? chunk : Buffer.from(chunk)))
    const whenDone = typeof encoding === 'function' ? encoding : done
    if (typeof whenDone === 'function') whenDone()
    return true
  }
  return () => {
    stream.write = write
    return Buffer.concat(chunks).toString()
  }
}
